// The list of a kind: the server's columns, live, with filter, order, selection and deletion.

import { ActionIcon, Badge, Button, Popover, Switch, TextInput, Tooltip } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type ReactNode, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { lazyComponent } from '../parts/lazy-component.ts';
import { useLocation } from 'wouter';
import { setPreference } from '../browser/preferences.ts';
import { pluralTitle } from '../data/lists/categories.ts';
import { listColumns } from '../data/lists/columns.ts';
import type { LiveTable, TableSnapshot } from '../data/lists/live-table.ts';
import { printable } from '../data/text/printable.ts';
import type { ResourceType } from '../data/server/resource-type.ts';
import { listRoute, objectRoute } from '../data/server/routes.ts';
import type { Sorting } from '../data/lists/sort.ts';
import { Store } from '../data/server/store.ts';
import { Empty, ErrorBox, Loading } from '../parts/basics.tsx';
import { useLiveTable, usePreferences, useStore, useTypes } from '../parts/hooks.ts';
import { useServices } from '../services.ts';
import { Grid } from './grid.tsx';

const BulkDelete = lazyComponent(async () => (await import('./bulk-delete.tsx')).BulkDelete);
const CreateObject = lazyComponent(async () => (await import('./create.tsx')).CreateObject);

export function ListPage({
  typeName,
  initialFilter,
}: {
  readonly typeName: string;
  readonly initialFilter: string;
}): ReactNode {
  const types = useTypes();
  const type = types.byId(typeName);
  if (type === undefined)
    return <Empty>The server does not serve the kind “{printable(typeName)}”.</Empty>;
  return <KindList type={type} initialFilter={initialFilter} />;
}

/** An address changes when nothing has been typed for this time. */
const TYPING_MS = 400;

/** Returns the filter, which the address has as well: it can be shared, and the way back finds it. */
function useFilter(
  type: ResourceType,
  ofAddress: string,
): readonly [string, (filter: string) => void] {
  const { clock } = useServices();
  const [, navigate] = useLocation();
  const [filter, setFilter] = useState(ofAddress);
  const latest = useRef(ofAddress);
  useEffect(() => {
    // Another address, which this page has not made.
    if (ofAddress !== latest.current) setFilter(ofAddress);
    latest.current = ofAddress;
  }, [ofAddress]);
  useEffect(() => {
    if (filter === latest.current) return undefined;
    const timer = clock.setTimer(TYPING_MS, () => {
      // The user may have left: this page stays until the next one is loaded.
      if (location.hash !== `#${listRoute(type, latest.current)}`) return;
      latest.current = filter;
      navigate(listRoute(type, filter), { replace: true });
    });
    return () => timer.cancel();
  }, [clock, navigate, type, filter]);
  return [filter, setFilter];
}

const noTable = new Store<TableSnapshot>({
  columns: [],
  rows: [],
  total: 0,
  state: { kind: 'loading' },
});

function KindList({
  type,
  initialFilter,
}: {
  readonly type: ResourceType;
  readonly initialFilter: string;
}): ReactNode {
  const { namespace } = usePreferences();
  const live = useLiveTable(type, type.namespaced ? namespace : '');
  const snapshot = useStore(live?.snapshot ?? noTable);
  const [filter, setFilter] = useFilter(type, initialFilter);
  const [sorting, setSorting] = useState<Sorting>();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [deleting, setDeleting] = useState(false);
  const [creating, setCreating] = useState(false);
  const filterInput = useRef<HTMLInputElement>(null);

  useEffect(() => live?.setFilter(filter), [live, filter]);
  useEffect(() => live?.setSorting(sorting), [live, sorting]);
  useEffect(() => setSelected(new Set()), [live]);

  const title = pluralTitle(type);
  const { state } = snapshot;
  if (state.kind === 'failed')
    return (
      <>
        <h1 className="page-title">{title}</h1>
        <ErrorBox
          title={
            state.reason === 'forbidden'
              ? `You may not list ${title} ${namespace === '' ? 'in all namespaces: choose one' : `in ${namespace}`}`
              : `${title} are not served any more`
          }
          error={new Error(state.message)}
        />
      </>
    );
  return (
    <div className="list-page">
      <div className="list-head">
        <h1 className="page-title">
          {printable(title)} <Count snapshot={snapshot} />
        </h1>
        <div className="list-tools">
          <TextInput
            ref={filterInput}
            className="filter-input"
            aria-label="Filter"
            placeholder="Filter: words, app=web, status:running, restarts>3"
            value={filter}
            onChange={(event) => {
              // Not only by the effect: text and rows are drawn together then.
              live?.setFilter(event.currentTarget.value);
              setFilter(event.currentTarget.value);
            }}
            error={snapshot.filterError}
            rightSection={<FilterHelp />}
            spellCheck={false}
            onKeyDown={(event) => {
              if (event.key === 'Escape') {
                setFilter('');
                event.currentTarget.blur();
              }
            }}
          />
          <WideSwitch snapshot={snapshot} />
          {type.verbs.includes('create') && (
            <Button variant="default" size="xs" onClick={() => setCreating(true)}>
              Create
            </Button>
          )}
          {selected.size > 0 && (
            <Button color="red" size="xs" onClick={() => setDeleting(true)}>
              Delete {selected.size}
            </Button>
          )}
        </div>
      </div>
      {live === undefined || (snapshot.total === 0 && state.kind === 'loading') ? (
        <Loading what={title} />
      ) : (
        <ListBody
          type={type}
          snapshot={snapshot}
          filter={filter}
          sorting={sorting}
          selected={selected}
          onSelect={setSelected}
          onSort={setSorting}
          focusFilter={() => filterInput.current?.focus()}
        />
      )}
      <Suspense>
        {deleting && live !== undefined && (
          <BulkDelete
            type={type}
            rows={rowsOf(live, selected)}
            onClose={(deleted) => {
              setDeleting(false);
              if (deleted) setSelected(new Set());
            }}
          />
        )}
        {creating && <CreateObject type={type} onClose={() => setCreating(false)} />}
      </Suspense>
    </div>
  );
}

const rowsOf = (
  live: LiveTable,
  uids: ReadonlySet<string>,
): { namespace: string; name: string; uid: string }[] =>
  [...uids].flatMap((uid) => live.get(uid) ?? []);

function Count({
  snapshot: { rows, total, state },
}: {
  readonly snapshot: TableSnapshot;
}): ReactNode {
  const loading = state.kind === 'loading' && total > 0;
  const expected = state.kind === 'loading' ? total + (state.remaining ?? 0) : total;
  const text =
    rows.length === total
      ? total.toLocaleString('en')
      : `${rows.length.toLocaleString('en')} of ${total.toLocaleString('en')}`;
  return (
    <span className="count" role="status">
      {text}
      {loading && expected > total && ` · loading ${expected.toLocaleString('en')}`}
      {state.kind === 'retrying' && (
        <Tooltip label={state.message}>
          <Badge color="yellow" variant="light" ml="xs" tt="none">
            reconnecting
          </Badge>
        </Tooltip>
      )}
    </span>
  );
}

function WideSwitch({ snapshot: { columns } }: { readonly snapshot: TableSnapshot }): ReactNode {
  const { wideTables } = usePreferences();
  if (!columns.some(({ priority = 0 }) => priority > 0)) return null;
  return (
    <Switch
      className="wide-only"
      label="More columns"
      size="xs"
      checked={wideTables}
      onChange={(event) => setPreference({ wideTables: event.currentTarget.checked })}
    />
  );
}

interface ListBodyProps {
  readonly type: ResourceType;
  readonly snapshot: TableSnapshot;
  readonly filter: string;
  readonly sorting: Sorting | undefined;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
  readonly onSort: (sorting: Sorting | undefined) => void;
  readonly focusFilter: () => void;
}

function ListBody({ type, snapshot, filter, ...rest }: ListBodyProps): ReactNode {
  const { namespace, wideTables } = usePreferences();
  const narrow = useMediaQuery('(max-width: 640px)');
  const [, navigate] = useLocation();
  const { rows, columns } = snapshot;
  // Widths stay while rows change: they follow the first rows that were there.
  const hasRows = rows.length > 0;
  const shown = useMemo(
    () =>
      listColumns(columns, rows, {
        withNamespace: type.namespaced && namespace === '',
        wide: wideTables,
        narrow,
      }),
    [columns, hasRows, type, namespace, wideTables, narrow],
  );
  const open = useCallback(
    (row: { namespace: string; name: string }) => {
      // The way back finds a filter that was typed a moment ago.
      const here = listRoute(type, filter);
      if (location.hash !== `#${here}`) navigate(here, { replace: true });
      navigate(objectRoute(type, row.namespace, row.name));
    },
    [navigate, type, filter],
  );
  if (snapshot.total === 0)
    return (
      <Empty>
        There are no {pluralTitle(type)}
        {type.namespaced && namespace !== '' && ` in ${namespace}`}.
      </Empty>
    );
  if (rows.length === 0) return <Empty>Nothing matches “{printable(filter)}”.</Empty>;
  return (
    <Grid
      {...rest}
      label={pluralTitle(type)}
      columns={shown}
      rows={rows}
      version={snapshot}
      routeOf={(row) => objectRoute(type, row.namespace, row.name)}
      onOpen={open}
    />
  );
}

const FILTERS: readonly (readonly [example: string, effect: string])[] = [
  ['web', 'a name or a cell contains the word'],
  ['app=web  app!=web', 'label has (not) the value'],
  ['app in (a, b)', 'label has one of the values'],
  ['has:app  !app', 'label exists, or does not'],
  ['status:running', 'column contains the text'],
  ['restarts>3  age<5m', 'column is above or below'],
  ['-web', 'the opposite'],
];

const FilterHelp = (): ReactNode => (
  <Popover position="bottom-end" width={340} withArrow>
    <Popover.Target>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label="How to filter">
        ?
      </ActionIcon>
    </Popover.Target>
    <Popover.Dropdown>
      <table className="help-table">
        <tbody>
          {FILTERS.map(([example, effect]) => (
            <tr key={example}>
              <td>
                <code>{example}</code>
              </td>
              <td>{effect}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Popover.Dropdown>
  </Popover>
);
