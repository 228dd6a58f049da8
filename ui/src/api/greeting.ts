// Reading waits for the stream's hello, so that no change is missed in between and nothing is read twice at load.
const LONGEST_MS = 700;

let isWaiting = false;
let end: () => void = () => undefined;
const hello = new Promise<void>((resolve) => {
  end = resolve;
});

/** The stream answered, well or badly. */
export const helloCame = () => end();

/** Wait for the first hello of this tab, but not for long. */
export function afterHello(): Promise<void> {
  if (!isWaiting) window.setTimeout(end, LONGEST_MS);
  isWaiting = true;
  return hello;
}
