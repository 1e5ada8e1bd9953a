// Watchers of ConfigMaps, in a process of their own: opens the watches over HTTP/2, as client-go
// does, counts the events, and reports when each watch has received the number of events that the
// order expects.

import { connect, type ClientHttp2Session } from 'node:http2';
import type { Target } from '../built-cluster.ts';

export interface WatchOrder {
  readonly target: Target;
  readonly path: string;
  readonly watchers: number;
  readonly eventsEach: number;
}

export type WatchReport =
  | { readonly state: 'open' }
  | { readonly state: 'delivered' }
  | { readonly error: string };

/** Servers allow 100 streams per connection, or more. */
const STREAMS_PER_SESSION = 50;
const NEWLINE = 10;

const send = (report: WatchReport): void => void process.send?.(report);

async function open({ target, path, watchers, eventsEach }: WatchOrder): Promise<void> {
  let missing = watchers * eventsEach;
  const onEvents = (count: number): void => {
    missing -= count;
    if (missing === 0) send({ state: 'delivered' });
    if (missing < 0) send({ error: 'more events than were written' });
  };
  const sessions = Array.from({ length: Math.ceil(watchers / STREAMS_PER_SESSION) }, () =>
    openSession(target),
  );
  const opened: Promise<void>[] = [];
  for (let i = 0; i < watchers; i++) {
    const session = sessions[i % sessions.length];
    if (session !== undefined) opened.push(openWatch(await session, path, onEvents));
  }
  await Promise.all(opened);
  send({ state: 'open' });
}

function openSession({ host, port, ca, cert, key }: Target): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connect(`https://${host}:${port}`, { ca, cert, key });
    session.once('error', reject);
    session.once('connect', () => resolve(session));
  });
}

/** Resolves when the server has accepted the watch. */
function openWatch(
  session: ClientHttp2Session,
  path: string,
  onEvents: (count: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'GET', ':path': path, accept: 'application/json' });
    stream.once('error', reject);
    stream.once('response', (headers) => {
      if (headers[':status'] === 200) resolve();
      else reject(new Error(`a watch was answered with ${headers[':status']}`));
    });
    stream.on('data', (chunk: Buffer) => {
      // Each event ends with its only line break.
      let events = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1))
        events++;
      if (events > 0) onEvents(events);
    });
  });
}

process.on('message', (order: WatchOrder) => {
  open(order).catch((error: unknown) =>
    send({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
