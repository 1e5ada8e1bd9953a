// The logs of the pods of an object, together. Lines are text: colours are shown, everything else
// that a terminal would obey is visible as characters.

import { Button, Checkbox, Popover, SegmentedControl, Switch, TextInput } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { ansiPieces } from '../../data/text/ansi.ts';
import type { KubeObject } from '../../data/lists/live-object.ts';
import {
  type LogLine,
  type LogSnapshot,
  type LogSource,
  LogStream,
  sourceKey,
} from '../../data/insight/log-stream.ts';
import { containersOf, podQuery } from '../../data/insight/pods-of.ts';
import { printable } from '../../data/text/printable.ts';
import { collectionPath } from '../../data/server/resource-type.ts';
import { Store } from '../../data/server/store.ts';
import { Empty } from '../../parts/basics.tsx';
import { useLiveList, useStore, useTypes } from '../../parts/hooks.ts';
import { followConfig, useServices } from '../../services.ts';
import type { TabProps } from './tab-props.ts';

/** More containers at a time would be more requests than a browser keeps open. */
const MAX_SOURCES = 20;
const MAX_PODS = 100;
const LINE_HEIGHT = 19;

const none = new Store<LogSnapshot>({ lines: [], dropped: 0, problems: new Map() });

export function LogsTab({ type, object }: TabProps): ReactNode {
  const types = useTypes();
  const pods = types.byId('pods');
  const { items } = useLiveList(
    pods === undefined ? undefined : collectionPath(pods, object.metadata.namespace ?? ''),
    podQuery(type, object),
    MAX_PODS,
  );
  const sources = useMemo(() => sourcesOf(items), [items]);
  const [chosen, setChosen] = useState<readonly string[]>();
  const keys = chosen ?? sources.filter(({ main }) => main).map(({ key }) => key);
  const followed = sources.filter(({ key }) => keys.includes(key)).slice(0, MAX_SOURCES);
  const [previous, setPrevious] = useState(false);
  const [tail, setTail] = useState('500');
  const [filter, setFilter] = useState('');
  const [wrap, setWrap] = useState(false);
  const [times, setTimes] = useState(false);
  const stream = useLogStream(
    followed.map(({ source }) => source),
    previous,
    Number(tail),
  );
  const { lines, dropped, problems } = useStore(stream?.snapshot ?? none);
  const wanted = filter.toLowerCase();
  const shown = useMemo(
    () => (wanted === '' ? lines : lines.filter(({ text }) => text.toLowerCase().includes(wanted))),
    [lines, wanted],
  );
  return (
    <div className="logs">
      <div className="toolbar">
        <SourceChoice
          keys={sources.map(({ key }) => key)}
          chosen={followed.map(({ key }) => key)}
          onChange={setChosen}
        />
        <TextInput
          size="xs"
          aria-label="Lines that contain"
          placeholder="Lines that contain …"
          value={filter}
          onChange={(event) => setFilter(event.currentTarget.value)}
        />
        <SegmentedControl
          size="xs"
          aria-label="Lines of each container at the beginning"
          value={tail}
          onChange={setTail}
          data={['100', '500', '5000']}
        />
        <Switch
          size="xs"
          label="Before restart"
          checked={previous}
          onChange={(event) => setPrevious(event.currentTarget.checked)}
        />
        <Switch
          size="xs"
          label="Times"
          checked={times}
          onChange={(event) => setTimes(event.currentTarget.checked)}
        />
        <Switch
          size="xs"
          label="Wrap"
          checked={wrap}
          onChange={(event) => setWrap(event.currentTarget.checked)}
        />
        <Button size="compact-xs" variant="default" onClick={() => stream?.clear()}>
          Clear
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => download(object, shown)}>
          Save
        </Button>
      </div>
      <Problems problems={problems} dropped={dropped} />
      {sources.length === 0 ? (
        <Empty>There are no pods with logs.</Empty>
      ) : (
        <Lines
          lines={shown}
          wrap={wrap}
          times={times}
          colors={colorsOf(followed.map(({ key }) => key))}
        />
      )}
    </div>
  );
}

function SourceChoice({
  keys,
  chosen,
  onChange,
}: {
  readonly keys: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (keys: readonly string[]) => void;
}): ReactNode {
  return (
    <Popover position="bottom-start" withArrow>
      <Popover.Target>
        <Button size="xs" variant="default" rightSection="▾">
          {chosen.length} of {keys.length} containers
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Checkbox.Group
          aria-label="Containers"
          value={[...chosen]}
          onChange={onChange}
          maxSelectedValues={MAX_SOURCES}
        >
          <div className="log-sources">
            {keys.map((key) => (
              <Checkbox key={key} size="xs" value={key} label={printable(key)} />
            ))}
          </div>
        </Checkbox.Group>
        {keys.length > MAX_SOURCES && (
          <p className="muted">At most {MAX_SOURCES} at the same time.</p>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

interface NamedSource {
  readonly key: string;
  readonly source: LogSource;
  /** Followed at first. */
  readonly main: boolean;
}

function sourcesOf(pods: readonly KubeObject[]): readonly NamedSource[] {
  return pods
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .flatMap((pod) =>
      containersOf(pod).map(({ name, kind }) => {
        const source = {
          namespace: pod.metadata.namespace ?? '',
          pod: pod.metadata.name,
          container: name,
        };
        return { key: sourceKey(source), source, main: kind === 'container' };
      }),
    );
}

function useLogStream(
  sources: readonly LogSource[],
  previous: boolean,
  tailLines: number,
): LogStream | undefined {
  const services = useServices();
  const [stream, setStream] = useState<LogStream>();
  useEffect(() => {
    const created = new LogStream({
      ...followConfig(services),
      options: { tailLines, previous, follow: true },
    });
    setStream(created);
    return () => created.close();
  }, [services, previous, tailLines]);
  const key = sources.map(sourceKey).join(' ');
  const latest = useRef(sources);
  latest.current = sources;
  useEffect(() => stream?.setSources(latest.current), [stream, key]);
  return stream;
}

const COLORS = 8;

/** Returns the class of each container's name. */
const colorsOf = (keys: readonly string[]): ReadonlyMap<string, string> =>
  new Map(keys.map((key, index) => [key, `log-source-${index % COLORS}`]));

function Problems({
  problems,
  dropped,
}: {
  readonly problems: ReadonlyMap<string, string>;
  readonly dropped: number;
}): ReactNode {
  if (problems.size === 0 && dropped === 0) return null;
  return (
    <div className="muted" role="status">
      {[...problems].slice(0, 5).map(([key, problem]) => (
        <div key={key}>
          {printable(key)}: {printable(problem)}
        </div>
      ))}
      {dropped > 0 && <div>{dropped.toLocaleString('en')} older lines were dropped.</div>}
    </div>
  );
}

interface LinesProps {
  readonly lines: readonly LogLine[];
  readonly wrap: boolean;
  readonly times: boolean;
  readonly colors: ReadonlyMap<string, string>;
}

function Lines({ lines, wrap, times, colors }: LinesProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_HEIGHT,
    getItemKey: (index) => lines[index]?.id ?? index,
    overscan: 30,
  });
  useEffect(() => {
    if (following && lines.length > 0) virtual.scrollToIndex(lines.length - 1);
  }, [lines, following, virtual]);
  const onScroll = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const rest = element.scrollHeight - element.scrollTop - element.clientHeight;
    setFollowing(rest < LINE_HEIGHT * 3);
  };
  return (
    <div className="log-frame">
      <div
        ref={scroller}
        className={`log-lines${wrap ? ' log-wrap' : ''}`}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label="Log lines"
        aria-live="off"
      >
        <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {virtual.getVirtualItems().map(({ key, index, start }) => (
            <div
              key={key}
              data-index={index}
              ref={wrap ? virtual.measureElement : undefined}
              className="log-line"
              style={{ transform: `translateY(${start}px)` }}
            >
              <Line line={lines[index]!} times={times} colors={colors} />
            </div>
          ))}
        </div>
      </div>
      {!following && (
        <Button size="compact-sm" className="log-follow" onClick={() => setFollowing(true)}>
          Follow ↓
        </Button>
      )}
    </div>
  );
}

const Line = memo(
  ({
    line,
    times,
    colors,
  }: {
    readonly line: LogLine;
    readonly times: boolean;
    readonly colors: ReadonlyMap<string, string>;
  }) => (
    <>
      {times && <span className="log-time">{printable(line.time.slice(0, 23))} </span>}
      {colors.size > 1 && (
        <span className={colors.get(sourceKey(line.source)) ?? 'log-time'}>
          {printable(sourceKey(line.source))}{' '}
        </span>
      )}
      {ansiPieces(line.text).map(({ text, style }, index) => (
        <span key={`${index}/${style}`} className={style}>
          {text}
        </span>
      ))}
    </>
  ),
);
Line.displayName = 'Line';

function download(object: KubeObject, lines: readonly LogLine[]): void {
  const text = lines
    .map(({ time, source, text: line }) => `${time} ${sourceKey(source)} ${line}\n`)
    .join('');
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${object.metadata.name}.log`;
  link.click();
  URL.revokeObjectURL(url);
}
