// An empty conversation: three things to try, each of which shows what Homing is for.
import { useStatus } from "../api/queries";
import { Icon } from "../parts/Icon";
import { Logo } from "../parts/Logo";

const offlineChips = ["remind me in 1 minute to stretch", "every weekday at 8 say good morning", "help"];
const chips = [
  "Remind me in 1 minute to stretch",
  "Every weekday at 8, tell me what is planned for the day",
  "What can you do later, while I am away?",
];

export function Welcome({ onTry }: { onTry: (text: string) => void }) {
  const status = useStatus().data;
  return (
    <div className="flex min-h-0 flex-1 flex-col justify-center overflow-y-auto">
      <div className="mx-auto w-full max-w-[50rem] px-4 py-8 sm:px-8">
        <Logo size={48} />
        <p className="mt-5 text-[1.6rem] leading-tight font-semibold tracking-tight">
          An agent that comes back when it said it would.
        </p>
        <p className="mt-2 max-w-[34rem] text-mute">
          Ask for something now, later, or again and again. It happens here, in this conversation, with everything said
          before still in mind.
        </p>
        <ul className="mt-7 max-w-[34rem] border-t" aria-label="Things to try">
          {(status?.model.offline ? offlineChips : chips).map((text) => (
            <li key={text} className="border-b">
              <button
                type="button"
                className="flex w-full items-center gap-3 py-2.5 text-left hover:text-accent"
                onClick={() => onTry(text)}
              >
                <Icon name="forward" size={15} className="flex-none text-mute" />
                {text}
              </button>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
