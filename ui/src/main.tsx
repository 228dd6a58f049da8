import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Refusal } from "./api/client";
import { App } from "./App";
import "./styles.css";

// The stream keeps what is shown fresh, so nothing is asked again by the clock or by a focus.
const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      retry: (failures, error) => failures < 2 && !(error instanceof Refusal && error.status < 500),
      retryDelay: 800,
    },
  },
});

// The server was upgraded under an open tab: the parts this page knows are gone, and a new page knows better.
window.addEventListener("vite:preloadError", (event) => {
  const last = Number(sessionStorage.getItem("homing.reloaded") ?? 0);
  if (Date.now() - last < 60_000) return; // A part that stays missing must not become a wheel.
  sessionStorage.setItem("homing.reloaded", String(Date.now()));
  event.preventDefault();
  location.reload();
});

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
