// Line icons on a 20-unit grid. They decorate; the control around them carries the label.
const paths = {
  chat: "M3.5 4.5h13v9.5h-7l-3.5 3v-3h-2.5z",
  clock: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM10 6v4.2l2.8 1.6",
  week: "M3.5 5h13v11.5h-13zM3.5 8.5h13M7 3v3M13 3v3",
  agent: "M4.5 7.5h11v8.5h-11zM10 7.5V4.5M10 4.5h.01M7.5 11v1M12.5 11v1M2.5 11v2M17.5 11v2",
  delivery: "M3 5.5h14v9.5H3zM3.5 6l6.5 5 6.5-5",
  settings: "M3 6h8M15 6h2M3 14h2M9 14h8M11 4v4M7 12v4",
  plus: "M10 4v12M4 10h12",
  search: "M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4ZM12.7 12.7 16.5 16.5",
  more: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  stop: "M6 6h8v8H6z",
  up: "M10 16V4.5M5 9.3l5-5 5 5",
  pause: "M7.5 5v10M12.5 5v10",
  play: "M6.5 4.5v11l9-5.5z",
  skip: "M5 5v10l7-5zM14.5 5v10",
  copy: "M7 7h9v9H7zM4 13V4h9",
  trash: "M4 6h12M8 6V4h4v2M5.5 6l.7 10.5h7.6L14.5 6",
  undo: "M4 8h8a4 4 0 0 1 0 8H8M4 8l3.5-3.5M4 8l3.5 3.5",
  close: "M5 5l10 10M15 5 5 15",
  list: "M3 6h14M3 10h14M3 14h14",
  back: "M12 4.5 6.5 10l5.5 5.5",
  forward: "M8 4.5l5.5 5.5L8 15.5",
  down: "M5 8l5 5 5-5",
  bell: "M5 14V9.5a5 5 0 0 1 10 0V14l1.5 1.5h-13zM8.5 17.5h3",
  pencil: "M4 16l.8-3.4L13.5 4 16 6.5 7.4 15.2z",
  note: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM10 9v4.5M10 6.5h.01",
  keyboard: "M2.5 6h15v8.5h-15zM5.5 9h.01M8.5 9h.01M11.5 9h.01M14.5 9h.01M7 12h6",
  tool: "M12.5 4a4 4 0 0 0-3.8 5.3L3.8 14.2l2 2 4.9-4.9A4 4 0 0 0 16 7.5l-2.5 1.7-1.9-1.9L13.3 4.7z",
  spark: "M10 3.5l1.7 4.8 4.8 1.7-4.8 1.7L10 16.5l-1.7-4.8L3.5 10l4.8-1.7z",
  report: "M5 3h7l3.5 3.5V17H5zM8 10h5M8 13h5",
  inbox: "M3.5 11 6 4.5h8l2.5 6.5V16h-13zM3.5 11h4l1 2h3l1-2h4",
  approve: "M10 3l6 2v4.5c0 3.7-2.5 6.2-6 7.5-3.5-1.3-6-3.8-6-7.5V5zM7.3 9.8l2 2 3.4-3.6",
  question: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM8 8.3a2 2 0 1 1 2.7 1.9c-.5.2-.7.5-.7 1v.3M10 13.7h.01",
  clip: "M15.5 9.5l-5.6 5.6a3.4 3.4 0 0 1-4.8-4.8l6-6a2.3 2.3 0 0 1 3.2 3.2l-5.8 5.8a1.1 1.1 0 0 1-1.6-1.6l5.2-5.2",
  branch: "M6 4v12M6 12c5 0 8-1.500 8-6M14 6V4M6 4h.01M14 4h.01",
  pin: "M7 3.500h6l-1 5 2.500 2.500h-9L8 8.500zM10 11v5.500",
  archive: "M3.500 4h13v3.500h-13zM4.500 7.500v8.500h11V7.500M8 10.500h4",
  export: "M10 3v9M6.500 6.500 10 3l3.500 3.500M4 12v4.500h12V12",
  print: "M6 7V3.500h8V7M6 14H3.500V7h13v7H14M6 11.500h8v5H6z",
  check: "M4.5 10.5l3.5 3.5 7.5-8",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 18, className }: { name: IconName; size?: number; className?: string }) {
  const heavy = name === "more" || name === "note" || name === "keyboard";
  return (
    <svg
      viewBox="0 0 20 20"
      width={size}
      height={size}
      className={className}
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2.4 : heavy ? 1.8 : 1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
