// Hooks that connect components with the data layer.

import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { preferences, type Preferences } from '../browser/preferences.ts';
import { isAbort, UnreachableError } from '../data/server/api-error.ts';
import type { ExtraName } from '../data/server/extras.ts';
import type { Types } from '../data/server/discovery.ts';
import { LiveList, type ListSnapshot, type LiveListConfig } from '../data/lists/live-list.ts';
import { LiveObject, type ObjectSnapshot } from '../data/lists/live-object.ts';
import type { LiveTable, TableSnapshot } from '../data/lists/live-table.ts';
import { collectionPath, type ResourceType } from '../data/server/resource-type.ts';
import { type Readable, Store } from '../data/server/store.ts';
import { followConfig, useServices } from '../services.ts';

export const useStore = <T>(store: Readable<T>): T =>
  useSyncExternalStore(store.subscribe, store.get);

export const usePreferences = (): Preferences => useStore(preferences);

export const useTypes = (): Types => useStore(useServices().types);

/** Returns the time, which moves every `everyMs`, so that ages stay true. */
export function useNow(everyMs: number): number {
  const { clock } = useServices();
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    const timer = clock.setInterval(everyMs, () => setNow(clock.now()));
    return () => timer.cancel();
  }, [clock, everyMs]);
  return now;
}

/** Returns a live table as long as the component is shown. */
export function useLiveTable(
  type: ResourceType | undefined,
  namespace: string,
  fieldSelector = '',
): LiveTable | undefined {
  const { tables } = useServices();
  const path = type === undefined ? undefined : collectionPath(type, namespace);
  const watch = type?.verbs.includes('watch') === true;
  const [table, setTable] = useState<LiveTable>();
  useEffect(() => {
    if (path === undefined) return undefined;
    setTable(tables.acquire(path, watch, fieldSelector));
    return () => {
      setTable(undefined);
      tables.release(path, fieldSelector);
    };
  }, [tables, path, watch, fieldSelector]);
  return table;
}

const noTable = new Store<TableSnapshot>({
  columns: [],
  rows: [],
  total: 0,
  state: { kind: 'loading' },
});

/** Returns the rows of a live table as long as the component is shown. */
export const useTableRows = (
  type: ResourceType | undefined,
  namespace: string,
  fieldSelector = '',
): TableSnapshot => useStore(useLiveTable(type, namespace, fieldSelector)?.snapshot ?? noTable);

const LOADING: ObjectSnapshot = { state: { kind: 'loading' }, missing: false };
const NOTHING: ListSnapshot = { state: { kind: 'loading' }, items: [], truncated: false };
const noObject = new Store<ObjectSnapshot>(LOADING);
const noList = new Store<ListSnapshot>(NOTHING);

/** Follows one object as long as the component is shown. */
export function useLiveObject(
  type: ResourceType,
  namespace: string | undefined,
  name: string,
): ObjectSnapshot {
  const services = useServices();
  const path = collectionPath(type, namespace ?? '');
  const watch = type.verbs.includes('watch');
  const [live, setLive] = useState<LiveObject>();
  useEffect(() => {
    const created = new LiveObject({ ...followConfig(services), path, name, watch });
    setLive(created);
    return () => {
      setLive(undefined);
      created.close();
    };
  }, [services, path, name, watch]);
  return useStore(live?.snapshot ?? noObject);
}

/** Follows a small collection of whole objects; undefined path: nothing. */
export function useLiveList(
  path: string | undefined,
  query: Readonly<Record<string, string>> = {},
  limit = 500,
): ListSnapshot {
  const services = useServices();
  const [live, setLive] = useState<LiveList>();
  const key = JSON.stringify(query);
  useEffect(() => {
    if (path === undefined) return undefined;
    const config: LiveListConfig = {
      ...followConfig(services),
      path,
      query: JSON.parse(key) as Record<string, string>,
      limit,
    };
    const created = new LiveList(config);
    setLive(created);
    return () => {
      setLive(undefined);
      created.close();
    };
  }, [services, path, key, limit]);
  return useStore(live?.snapshot ?? noList);
}

/** Reports whether the server has one of its optional endpoints. */
export function useExtra(name: ExtraName): boolean {
  const { extras } = useServices();
  const [available, setAvailable] = useState(false);
  useEffect(() => {
    // A server that is away is asked again when the component is shown again.
    extras.has(name).then(setAvailable, () => undefined);
  }, [extras, name]);
  return available;
}

export interface Loaded<T> {
  readonly value?: T;
  readonly error?: unknown;
  readonly loading: boolean;
  /** Loads again; the last value stays until the next one is here. */
  reload(): void;
}

/** Loads a value when `key` changes. The load of an older key is given up. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ value?: T; error?: unknown; key?: string }>({});
  const [count, setCount] = useState(0);
  const [loading, setLoading] = useState(true);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const abort = new AbortController();
    setLoading(true);
    latest
      .current(abort.signal)
      .then((value) => {
        if (!abort.signal.aborted) setState({ value, key });
      })
      .catch((error: unknown) => {
        if (!abort.signal.aborted && !isAbort(error))
          setState((last) => ({ value: last.key === key ? last.value : undefined, error, key }));
      })
      .finally(() => {
        if (!abort.signal.aborted) setLoading(false);
      });
    return () => abort.abort();
  }, [key, count]);
  const reload = useMemo(() => () => setCount((last) => last + 1), []);
  const { connection } = useServices();
  const { error } = state;
  useEffect(() => {
    if (!(error instanceof UnreachableError)) return undefined;
    const abort = new AbortController();
    // It is loaded again by itself once the server answers.
    connection.whenOnline(abort.signal).then(reload, () => undefined);
    return () => abort.abort();
  }, [connection, error, reload]);
  const current = state.key === key;
  return {
    value: current ? state.value : undefined,
    error: current ? state.error : undefined,
    loading,
    reload,
  };
}

/** Calls `load` again and again while the component is shown. */
export function usePolled<T>(
  key: string,
  everyMs: number,
  load: (signal: AbortSignal) => Promise<T>,
): Loaded<T> {
  const { clock } = useServices();
  const loaded = useLoad(key, load);
  const { reload } = loaded;
  useEffect(() => {
    const timer = clock.setInterval(everyMs, reload);
    return () => timer.cancel();
  }, [clock, everyMs, reload]);
  return loaded;
}
