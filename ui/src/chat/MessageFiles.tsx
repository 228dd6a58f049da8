// The files of a message, each with its name and size. Fetched with the page's key, so a plain link would be refused.
import { useState } from "react";
import { getFile } from "../api/operations";
import type { Message } from "../api/types";
import { toastError } from "../parts/toasts";
import { sizeOf } from "../parts/words";
import { isPicture, Picture } from "./Picture";
import { save } from "./sessionActions";

type MessageFile = NonNullable<Message["files"]>[number];

export function MessageFiles({ files }: { files: MessageFile[] }) {
  return (
    <ul aria-label="Files" className="mt-1 flex flex-col gap-1">
      {files.map((file) => (
        <FileRow key={file.id} file={file} />
      ))}
    </ul>
  );
}

function FileRow({ file }: { file: MessageFile }) {
  const [fetching, setFetching] = useState(false);

  async function download() {
    setFetching(true);
    try {
      save(await getFile(file.id), file.name);
    } catch (error) {
      toastError(error);
    } finally {
      setFetching(false);
    }
  }

  return (
    <li className="flex flex-wrap items-center gap-x-2 text-small">
      {isPicture(file) && <Picture id={file.id} name={file.name} />}
      <span className="[overflow-wrap:anywhere]">{file.name}</span>
      <span className="text-mute">{sizeOf(file.bytes)}</span>
      <button
        type="button"
        className="link"
        aria-label={`Download ${file.name}`}
        disabled={fetching}
        onClick={download}
      >
        {fetching ? "Downloading" : "Download"}
      </button>
    </li>
  );
}
