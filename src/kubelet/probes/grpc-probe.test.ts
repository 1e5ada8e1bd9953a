import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  status,
} from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import { grpcHealth } from './grpc-probe.ts';

const health = {
  check: {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: ({ service }: { service: string }) => Buffer.from(service),
    // Field 1, a length of one byte, the service's name.
    requestDeserialize: (bytes: Buffer) => ({ service: bytes.subarray(2).toString('utf8') }),
    responseSerialize: (code: number) => (code === 0 ? Buffer.alloc(0) : Buffer.from([0x08, code])),
    responseDeserialize: (bytes: Buffer) => bytes[1] ?? 0,
  },
} as const;

let server: Server | undefined;
afterEach(() => server?.forceShutdown());

/** Starts a server. `answer`: a status, an error code as a string, or no response at all. */
async function serve(
  answer: (service: string) => number | { code: number; details: string } | undefined,
): Promise<string> {
  server = new Server();
  server.addService(health, {
    check: (
      call: ServerUnaryCall<{ service: string }, number>,
      callback: sendUnaryData<number>,
    ) => {
      const given = answer(call.request.service);
      if (typeof given === 'number') callback(null, given);
      else if (given !== undefined) callback(given);
    },
  });
  const port = await new Promise<number>((resolve, reject) =>
    server?.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return `127.0.0.1:${port}`;
}

const ask = (address: string, service = ''): Promise<void> =>
  grpcHealth(address, service, 'kubelet', new AbortController().signal);

test('a serving server is healthy, and gets the name of the service', async () => {
  const asked: string[] = [];
  const long = 'x'.repeat(100);
  const address = await serve((service) => (asked.push(service), 1));
  await ask(address);
  await ask(address, 'web');
  await ask(address, long);
  expect(asked).toEqual(['', 'web', long]);
});

test.each([
  [0, 'service unhealthy (responded with "UNKNOWN")'],
  [2, 'service unhealthy (responded with "NOT_SERVING")'],
  [3, 'service unhealthy (responded with "SERVICE_UNKNOWN")'],
  [
    { code: status.UNIMPLEMENTED, details: 'no' },
    'server does not implement the grpc health protocol (grpc.health.v1.Health): no',
  ],
  [{ code: status.NOT_FOUND, details: 'who?' }, 'health rpc probe failed: who?'],
])('%j is not', async (answer, message) => {
  await expect(ask(await serve(() => answer))).rejects.toThrow(message);
});

test('an unreachable server is a failure', async () => {
  const address = await serve(() => 1);
  server?.forceShutdown();
  await expect(ask(address)).rejects.toThrow(`failed to connect service "${address}"`);
});

test('the caller can abort', async () => {
  const abort = new AbortController();
  const address = await serve(() => {
    abort.abort(new Error('enough'));
    return undefined;
  });
  await expect(grpcHealth(address, '', 'kubelet', abort.signal)).rejects.toThrow('enough');
});
