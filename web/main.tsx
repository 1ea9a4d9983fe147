/** Entry of the page. */
import { createRoot } from "react-dom/client";
import { App } from "./app/app.tsx";
import "./style/base.css";
import "./style/start.css";
import "./style/layout.css";
import "./style/message.css";
import "./style/panel.css";
import "./style/record.css";
import "./style/pages.css";
import { applyTheme, savedTheme } from "./app/theme.ts";

applyTheme(savedTheme());
const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<App />);
