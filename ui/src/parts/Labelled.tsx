// A field with its label, and below it a hint or, if it was refused, the reason.
import { type ReactNode, useId } from "react";

type Wired = { id: string; "aria-invalid": boolean; "aria-describedby": string | undefined };
type LabelledProps = {
  label: string;
  hint?: string;
  error?: string | null;
  narrow?: boolean;
  children: (props: Wired) => ReactNode;
};

export function Labelled({ label, hint, error = null, narrow = false, children }: LabelledProps) {
  const id = useId();
  const says = error ?? hint;
  return (
    <div className={`flex flex-col gap-1 ${narrow ? "max-w-[16rem]" : ""}`}>
      <label htmlFor={id} className="text-small font-semibold">
        {label}
      </label>
      {children({ id, "aria-invalid": error !== null, "aria-describedby": says ? `${id}-says` : undefined })}
      {says && (
        <p id={`${id}-says`} className={`text-small ${error ? "text-bad" : "text-mute"}`}>
          {says}
        </p>
      )}
    </div>
  );
}
