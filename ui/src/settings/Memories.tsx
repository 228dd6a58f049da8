// What is remembered. What came from outside says so, and counts as known only once a person keeps it.
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { sentenceOf } from "../api/client";
import { addMemory, confirmMemory, listMemories, removeMemory } from "../api/operations";
import { flat, useMyZone } from "../api/queries";
import type { Memory } from "../api/types";
import { ConfirmButton } from "../parts/ConfirmButton";
import { Loading } from "../parts/EmptyState";
import { toast, toastError } from "../parts/toasts";
import { useSearch } from "../router";
import { Relative } from "../time/Time";

export function Memories() {
  const client = useQueryClient();
  const list = useInfiniteQuery({
    queryKey: ["memories"],
    queryFn: ({ pageParam }) => listMemories({ cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const memories = flat(list.data);
  const again = () => client.invalidateQueries({ queryKey: ["memories"] });

  async function keep({ id }: Memory) {
    try {
      await confirmMemory(id);
      toast({ text: "Kept" });
      await again();
    } catch (error) {
      toastError(error);
    }
  }

  async function forget({ id, text, confirmed }: Memory) {
    try {
      await removeMemory(id);
      // Added again it would be a person's own word, which it never was.
      toast({ text: "Forgotten", undo: confirmed ? () => addMemory(text).then(again) : undefined });
      await again();
    } catch (error) {
      toastError(error);
    }
  }

  // A hit of the search: its own line, or the next page until it is there.
  const at = useSearch().get("memory");
  const missing = at !== null && list.isSuccess && !memories.some(({ id }) => id === at);
  useEffect(() => {
    if (missing && list.hasNextPage && !list.isFetchingNextPage) void list.fetchNextPage();
  }, [missing, list]);

  if (list.isPending) return <Loading rows={1} />;
  if (list.isError) return <p className="text-bad">{sentenceOf(list.error)}</p>;
  if (memories.length === 0)
    return <p className="text-mute">Nothing is remembered yet. Say “remember that …” in a conversation.</p>;
  return (
    <>
      <ul className="border-t">
        {memories.map((memory) => (
          <Row
            key={memory.id}
            memory={memory}
            marked={memory.id === at}
            keep={() => void keep(memory)}
            forget={() => void forget(memory)}
          />
        ))}
      </ul>
      {list.hasNextPage && (
        <button
          type="button"
          className="button mt-3"
          disabled={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        >
          Show more
        </button>
      )}
    </>
  );
}

function Row({
  memory: { text, source, confirmed, created_at },
  marked,
  keep,
  forget,
}: {
  memory: Memory;
  marked: boolean;
  keep: () => void;
  forget: () => void;
}) {
  const zone = useMyZone();
  const line = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (marked) line.current?.scrollIntoView({ block: "center" });
  }, [marked]);
  return (
    <li
      ref={line}
      aria-current={marked || undefined}
      className={`flex flex-wrap items-baseline justify-end gap-x-3 border-b py-1.5 ${marked ? "bg-accent-tint" : ""}`}
    >
      <span className="min-w-[12rem] flex-1 [overflow-wrap:anywhere]">
        {text}
        {confirmed && source && <span className="block text-small text-mute">from {source}</span>}
        {!confirmed && (
          <span className="block text-small text-wait">
            {source ? `from ${source}, not confirmed` : "not confirmed"}
          </span>
        )}
      </span>
      <span className="flex items-baseline gap-x-3">
        <Relative at={created_at} zone={zone} className="text-small text-mute" />
        {!confirmed && (
          <button type="button" className="link text-small" aria-label={`Keep: ${text}`} onClick={keep}>
            Keep
          </button>
        )}
        {confirmed ? (
          <button type="button" className="link text-small" aria-label={`Forget: ${text}`} onClick={forget}>
            Forget
          </button>
        ) : (
          // As wide asked as unasked: Keep must not move away under the pointer.
          <span className="min-w-[3rem] text-right">
            <ConfirmButton label={`Forget: ${text}`} text="Forget" question="Sure?" onConfirm={forget} />
          </span>
        )}
      </span>
    </li>
  );
}
