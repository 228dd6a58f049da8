import { useEffect } from "react";

/** The tab says where one is. */
export function useTitle(name: string | undefined) {
  useEffect(() => {
    document.title = name ? `${name} · Homing` : "Homing";
    return () => {
      document.title = "Homing";
    };
  }, [name]);
}
