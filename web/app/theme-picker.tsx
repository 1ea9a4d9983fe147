import { useState, type ReactNode } from "react";
import { savedTheme, saveTheme, type Theme } from "./theme.ts";

const THEMES: readonly (readonly [Theme, string])[] = [
  ["system", "Auto"],
  ["light", "Light"],
  ["dark", "Dark"],
];

export function ThemePicker(): ReactNode {
  const [theme, setTheme] = useState(savedTheme);
  return (
    <select
      className="quiet-select"
      aria-label="Colours"
      value={theme}
      onChange={(event) => {
        const chosen = THEMES.find(([name]) => name === event.target.value)?.[0] ?? "system";
        saveTheme(chosen);
        setTheme(chosen);
      }}
    >
      {THEMES.map(([name, label]) => (
        <option key={name} value={name}>
          {label}
        </option>
      ))}
    </select>
  );
}
