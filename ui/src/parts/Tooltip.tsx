// A short text on hover and focus. It is never the only place where something is said.
import { Tooltip as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { useTopLayer } from "./layers";

type TooltipProps = { text: ReactNode; children: ReactNode; side?: "top" | "right" | "bottom" | "left" };

export function Tooltip({ text, children, side = "top" }: TooltipProps) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal container={useTopLayer()}>
        <Radix.Content className="tip" side={side} sideOffset={6} collisionPadding={8}>
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export const TooltipProvider = Radix.Provider;
