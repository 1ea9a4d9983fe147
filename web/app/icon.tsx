/** The few icons of the page. Decoration only: what they mean is said by the label of their button. */
import type { ReactNode } from "react";

const PATHS = {
  plus: "M12 5v14M5 12h14",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  file: "M14 3H7a1 1 0 0 0-1 1v16a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1V7zM14 3v4h4",
  attach:
    "M20 11.5 12.2 19a4.6 4.6 0 0 1-6.5-6.5l8-7.7a3 3 0 0 1 4.3 4.3l-7.9 7.6a1.5 1.5 0 0 1-2.1-2.1l7.2-7",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6 6 18",
  check: "M5 12.5l4.5 4.5L19 7",
  alert: "M12 8v5M12 16.5v.5M12 3.5 2.8 19.5h18.4z",
  chevron: "M9 6l6 6-6 6",
  download: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  again: "M4 12a8 8 0 0 1 14-5.3L20 9M20 4v5h-5M20 12a8 8 0 0 1-14 5.3L4 15M4 20v-5h5",
  branch: "M7 4v16M7 12c6 0 10-1 10-6M17 6a1 1 0 1 0 0-2 1 1 0 0 0 0 2",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  code: "M9 7l-5 5 5 5M15 7l5 5-5 5",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.5 20c1-4 4-5.5 7.5-5.5s6.500 1.500 7.500 5.500",
  clear: "M5 12h14M5 6h8M5 18h8M17 4l4 4M21 4l-4 4",
  record:
    "M12 3l7 3v5.500c0 4.500-3 7.700-7 9.500-4-1.800-7-5-7-9.500V6zM9 12l2.200 2.200L15.200 10",
  wallet: "M3 7h16a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2zM3 7l12-4v4M17 13.500h.010",
  coins: "M4 20V10M10 20V4M16 20v-7M22 20H2",
  pause: "M9 6v12M15 6v12",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 8v4.500l3 2",
  leave: "M14 4H6v16h8M11 12h10M17 8l4 4-4 4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** As an element, not a file: it is there with the first paint. The same drawing as public/icon.svg. */
export function Logo({ size }: { readonly size: number }): ReactNode {
  return (
    <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <path
        d="M10 7v18M22 7v18M10 16h12"
        fill="none"
        stroke="currentcolor"
        strokeWidth="3.4"
        strokeLinecap="round"
      />
    </svg>
  );
}

interface IconButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
  readonly disabled?: boolean;
  readonly className?: string;
  readonly expanded?: boolean;
}

export function IconButton(props: IconButtonProps): ReactNode {
  const { icon, label, onClick, disabled = false, className = "", expanded } = props;
  return (
    <button
      type="button"
      className={`icon-button ${className}`}
      aria-label={label}
      title={label}
      aria-expanded={expanded}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
