// A terminal in a container of a pod, and debug containers beside the others.

import { Button, Select, TextInput } from '@mantine/core';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { openExec } from '../../browser/exec-socket.ts';
import { addDebugContainer } from '../../data/actions/debug-container.ts';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { containersOf } from '../../data/insight/pods-of.ts';
import { ErrorBox } from '../../parts/basics.tsx';
import { useServices } from '../../services.ts';

/** Starts the best shell that the image has. */
const SHELL = ['sh', '-c', 'command -v bash >/dev/null 2>&1 && exec bash || exec sh'];

interface Session {
  readonly container: string;
  /** A debug container's own process; otherwise a new shell. */
  readonly attach: boolean;
  readonly count: number;
}

export function TerminalTab({
  object,
  missing,
}: {
  readonly object: KubeObject;
  readonly missing: boolean;
}): ReactNode {
  const containers = containersOf(object);
  const [container, setContainer] = useState(containers[0]?.name ?? '');
  const [session, setSession] = useState<Session>();
  const open = (name: string, attach: boolean): void => {
    setContainer(name);
    setSession((last) => ({ container: name, attach, count: (last?.count ?? 0) + 1 }));
  };
  return (
    <div className="stack terminal-tab">
      <div className="toolbar">
        <Select
          size="xs"
          aria-label="Container"
          data={containers.map(({ name }) => name)}
          value={container}
          allowDeselect={false}
          onChange={(value) => setContainer(value ?? '')}
        />
        <Button
          size="xs"
          disabled={missing || container === ''}
          onClick={() => open(container, false)}
        >
          Open a shell
        </Button>
        {!missing && (
          <Debug object={object} target={container} onReady={(name) => open(name, true)} />
        )}
      </div>
      {session !== undefined && (
        <Screen key={`${session.container}/${session.count}`} object={object} session={session} />
      )}
      {session === undefined && (
        <p className="empty">
          A shell runs in the container, as its user. An image without a shell needs a debug
          container: it shares the pod&apos;s network, and the target&apos;s processes.
        </p>
      )}
    </div>
  );
}

function pathOf({ metadata }: KubeObject, { container, attach }: Session): string {
  const query = new URLSearchParams({
    container,
    stdin: 'true',
    stdout: 'true',
    tty: 'true',
  });
  if (!attach) for (const word of SHELL) query.append('command', word);
  const namespace = encodeURIComponent(metadata.namespace ?? '');
  const pod = encodeURIComponent(metadata.name);
  return `/api/v1/namespaces/${namespace}/pods/${pod}/${attach ? 'attach' : 'exec'}?${query}`;
}

function Screen({
  object,
  session,
}: {
  readonly object: KubeObject;
  readonly session: Session;
}): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const [state, setState] = useState('connecting …');
  const path = useRef(pathOf(object, session));
  useEffect(() => {
    if (place.current === null) return undefined;
    const terminal = new Terminal({
      cursorBlink: true,
      fontSize: 13,
      scrollback: 5000,
      screenReaderMode: true,
      // Programs must neither change the title nor read the clipboard.
      windowOptions: {},
      theme: { background: '#10181c' },
    });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    terminal.open(place.current);
    fit.fit();
    const socket = openExec(path.current, {
      onOpen: () => {
        setState('connected');
        socket.resize(terminal.cols, terminal.rows);
        terminal.focus();
      },
      onOutput: (bytes) => terminal.write(bytes),
      onEnd: (message) => setState(message),
    });
    terminal.onData((text) => socket.send(text));
    terminal.onResize(({ cols, rows }) => socket.resize(cols, rows));
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(place.current);
    return () => {
      observer.disconnect();
      socket.close();
      terminal.dispose();
    };
  }, []);
  return (
    <>
      <p className="muted" role="status">
        {session.container}: {state}
      </p>
      <div ref={place} className="terminal" />
    </>
  );
}

function Debug({
  object,
  target,
  onReady,
}: {
  readonly object: KubeObject;
  readonly target: string;
  readonly onReady: (container: string) => void;
}): ReactNode {
  const { api, clock } = useServices();
  const [image, setImage] = useState('busybox:1.37');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const start = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      onReady(await addDebugContainer({ api, clock }, object, image.trim(), target));
    } catch (error_) {
      setError(error_);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <TextInput
        size="xs"
        aria-label="Image of the debug container"
        value={image}
        onChange={(event) => setImage(event.currentTarget.value)}
      />
      <Button
        size="xs"
        variant="default"
        loading={busy}
        disabled={image.trim() === ''}
        onClick={() => void start()}
      >
        Add a debug container
      </Button>
      {error !== undefined && <ErrorBox error={error} />}
    </>
  );
}
