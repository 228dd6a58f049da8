// The commands that match what is typed after a slash. Focus stays in the composer, whose arrow keys move the choice.
import type { Command } from "./commands";

type CommandListProps = { commands: readonly Command[]; chosen: number; onChoose: (command: Command) => void };

export const commandId = (name: string) => `command-${name}`;

export function CommandList({ commands, chosen, onChoose }: CommandListProps) {
  return (
    <div
      id="commands"
      role="listbox"
      aria-label="Commands"
      className="menu absolute right-0 bottom-full left-0 mb-1 max-h-[50dvh] overflow-y-auto"
    >
      {commands.map((command, index) => (
        <div
          key={command.name}
          id={commandId(command.name)}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          data-highlighted={index === chosen || undefined}
          className="menu-item"
          // Before the composer loses the focus.
          onPointerDown={(event) => {
            event.preventDefault();
            onChoose(command);
          }}
        >
          <span className="w-20 flex-none font-mono">/{command.name}</span>
          <span className="text-mute">{command.does}</span>
        </div>
      ))}
    </div>
  );
}
