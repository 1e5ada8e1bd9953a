import { expect, test } from 'vitest';
import { AuditEvent, type AuditEventFields } from '#apiserver/audit/index.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import { RemoteAuditSink, serveAuditStream } from './audit-stream.ts';

const event = (auditId: string, more: Partial<AuditEventFields> = {}): AuditEvent =>
  new AuditEvent({
    level: 'Metadata',
    auditId,
    stage: 'ResponseComplete',
    requestUri: '/api',
    verb: 'get',
    user: { name: 'admin', groups: ['system:masters'] },
    impersonatedUser: undefined,
    impersonationConstraint: undefined,
    sourceIps: ['127.0.0.1'],
    userAgent: 'test',
    objectRef: undefined,
    responseStatus: { code: 200 },
    requestObject: undefined,
    responseObject: undefined,
    receivedMs: 1000,
    stageMs: 2000,
    annotations: undefined,
    ...more,
  });

/** A sink whose events arrive at `process`. */
function connected(process: (events: readonly AuditEvent[]) => Promise<boolean>): RemoteAuditSink {
  return new RemoteAuditSink(() => {
    const [near, far] = duplexPair();
    serveAuditStream(far, process);
    return Promise.resolve(near);
  });
}

test('events arrive as they were, and in their order', async () => {
  const received: string[] = [];
  const sink = connected((events) => {
    received.push(...events.map((each) => each.json()));
    return Promise.resolve(true);
  });
  const events = [
    event('a', { requestObject: '{"a":"line\\nbreak ü 😀"}', annotations: { x: 'y' } }),
    event('b', { requestObject: JSON.stringify({ text: 'x'.repeat(300_000) }) }),
    event('c', { impersonatedUser: { name: 'other', groups: [], extra: { k: ['v'] } } }),
  ];
  expect(await Promise.all(events.map((each) => sink.process([each])))).toEqual([true, true, true]);
  expect(await sink.process([event('d'), event('e')])).toBe(true);
  expect(received).toEqual([...events, event('d'), event('e')].map((each) => each.json()));
  expect(received[0]).toContain('line\\nbreak ü 😀');
  await sink.stop();
});

test('a request learns that its event was not written', async () => {
  const sink = connected((events) => Promise.resolve(events[0]?.fields.auditId !== 'lost'));
  expect(await sink.process([event('lost')])).toBe(false);
  expect(await sink.process([event('kept')])).toBe(true);
});

test('a stop waits for what is being written', async () => {
  const writes: (() => void)[] = [];
  const sink = connected(() => new Promise((resolve) => writes.push(() => resolve(true))));
  const processed = sink.process([event('a')]);
  let stopped = false;
  const stopping = sink.stop().then(() => (stopped = true));
  await expect.poll(() => writes.length, { timeout: 60_000 }).toBe(1);
  expect(stopped).toBe(false);
  writes[0]?.();
  expect(await processed).toBe(true);
  await stopping;
});

test('events fail when the main process cannot be reached, or sends nonsense', async () => {
  const unreachable = new RemoteAuditSink(() => Promise.reject(new Error('gone')));
  expect(await unreachable.process([event('a')])).toBe(false);
  await unreachable.stop();
  let connections = 0;
  const confused = new RemoteAuditSink(() => {
    const [near, far] = duplexPair();
    near.on('error', () => undefined);
    if (connections++ === 0) far.on('data', () => far.write('nonsense\n'));
    else serveAuditStream(far, () => Promise.resolve(true));
    return Promise.resolve(near);
  });
  expect(await confused.process([event('a')])).toBe(false);
  expect(await confused.process([event('b')])).toBe(true);
});
