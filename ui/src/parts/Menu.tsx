// A drop-down of actions. Not modal: a modal one would inject a <style>, which the page's policy forbids.
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

export function Menu({ label, trigger, children }: { label: string; trigger?: ReactNode; children: ReactNode }) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        {trigger ?? (
          <button type="button" className="icon-button" aria-label={label}>
            <Icon name="more" />
          </button>
        )}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4} collisionPadding={8} aria-label={label}>
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

type MenuItemProps = { icon: IconName; onSelect: () => void; disabled?: boolean; bad?: boolean; children: ReactNode };

export function MenuItem({ icon, onSelect, disabled = false, bad = false, children }: MenuItemProps) {
  return (
    <DropdownMenu.Item className={`menu-item ${bad ? "text-bad" : ""}`} onSelect={onSelect} disabled={disabled}>
      <Icon name={icon} size={16} className={bad ? "" : "text-mute"} />
      {children}
    </DropdownMenu.Item>
  );
}

export const MenuLine = () => <DropdownMenu.Separator className="my-1 border-t" />;
