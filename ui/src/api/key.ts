// The page's half of its proof. A cookie goes to every port of this host, so a cookie alone opens nothing: the key stays
// in this origin's storage and goes out as a header, to this server only.
export const KEY = "Homing-Key";
const NAME = "homing.key";

// Where storage is closed to us, one is signed in until the page is loaded again.
let here: string | null = null;

export function storedKey(): string | null {
  try {
    return localStorage.getItem(NAME) ?? here;
  } catch {
    return here;
  }
}

export function storeKey(key: string | null) {
  here = key;
  try {
    if (key === null) localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, key);
  } catch {
    // Kept in memory.
  }
}
