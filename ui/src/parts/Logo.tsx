// The logo: a homing pigeon.
export const LOGO_PATH =
  "M29.4 11.7 26.5 10c-.5-2-2.2-3.2-4.2-3.1-1.7.1-3.1 1-3.9 2.6C16.4 6.2 12.6 3.5 6.8 2.9c.1 5.2 1.7 9.3 5.2 12-2.7 2-5.9 3.4-9.8 4.2l3.1 1.9-1.5 2.8c5.9.6 12.3.3 16.6-2.3 4.1-2.5 6.4-5.5 6.2-8.5Z";

export function Logo({ size = 26, className }: { size?: number; className?: string }) {
  return (
    <svg viewBox="0 0 32 28" width={size} height={(size * 28) / 32} className={className} aria-hidden="true">
      <path d={LOGO_PATH} fill="currentColor" />
      <circle cx="23.1" cy="10.3" r="1" fill="var(--color-paper)" />
    </svg>
  );
}
