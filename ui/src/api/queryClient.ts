import { type InvalidateOptions, type InvalidateQueryFilters, QueryClient } from "@tanstack/react-query";
import { Refusal } from "./client";

// A query that loads for the first time is otherwise left to go on, although the server may have read its rows before the
// change that invalidates them: the answer would count as fresh, and the change would never show.
export class PageQueryClient extends QueryClient {
  override invalidateQueries(filters?: InvalidateQueryFilters, options?: InvalidateOptions): Promise<void> {
    if (filters?.refetchType !== "none")
      for (const query of this.getQueryCache().findAll({ ...filters, type: "active", fetchStatus: "fetching" }))
        if (query.state.data === undefined) void query.cancel({ silent: true });
    return super.invalidateQueries(filters, options);
  }
}

// The stream keeps what is shown fresh, so nothing is asked again by the clock or by a focus.
export const queryClient = () =>
  new PageQueryClient({
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
