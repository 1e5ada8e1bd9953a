// Calls the standard gRPC health service,
// https://github.com/grpc/grpc/blob/master/doc/health-checking.md

import {
  type Client,
  connectivityState,
  credentials,
  makeGenericClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { NetworkError } from '../handlers/network.ts';

const SERVING = 1;
const STATUS_NAMES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

/** Encodes a HealthCheckRequest: field 1, the service's name. */
function encodeRequest(service: string): Buffer {
  if (service === '') return Buffer.alloc(0);
  const name = Buffer.from(service);
  const length: number[] = [];
  for (let rest = name.length; ; rest >>>= 7) {
    if (rest < 0x80) {
      length.push(rest);
      break;
    }
    length.push((rest & 0x7f) | 0x80);
  }
  return Buffer.concat([Buffer.from([0x0a, ...length]), name]);
}

/** Decodes a HealthCheckResponse: field 1, the status, a small number; 0 is left out. */
const decodeStatus = (bytes: Buffer): number => (bytes[0] === 0x08 ? (bytes[1] ?? 0) : 0);

const HealthClient = makeGenericClientConstructor(
  {
    check: {
      path: '/grpc.health.v1.Health/Check',
      requestStream: false,
      responseStream: false,
      requestSerialize: encodeRequest,
      requestDeserialize: (bytes: Buffer) => bytes.toString('utf8'),
      responseSerialize: (code: number) => Buffer.from([0x08, code]),
      responseDeserialize: decodeStatus,
    },
  },
  'Health',
);

/**
 * Resolves if the service reports that it is serving. `onConnected`: called if there is a
 * connection when the signal aborts. Rejects with a NetworkError that describes the problem, or
 * with the signal's reason.
 */
export async function grpcHealth(
  address: string,
  service: string,
  userAgent: string,
  signal: AbortSignal,
  onConnected: () => void = () => undefined,
): Promise<void> {
  const client: Client = new HealthClient(address, credentials.createInsecure(), {
    'grpc.primary_user_agent': userAgent,
    'grpc.enable_retries': 0,
  });
  try {
    const answered = await new Promise<number>((resolve, reject) => {
      const call = client.makeUnaryRequest(
        '/grpc.health.v1.Health/Check',
        encodeRequest,
        decodeStatus,
        service,
        (error: ServiceError | null, value?: number) => {
          signal.removeEventListener('abort', give);
          if (error === null) resolve(value ?? 0);
          else
            reject(
              signal.aborted ? (signal.reason as Error) : new NetworkError(problem(address, error)),
            );
        },
      );
      const give = (): void => {
        if (client.getChannel().getConnectivityState(false) === connectivityState.READY)
          onConnected();
        call.cancel();
      };
      signal.addEventListener('abort', give, { once: true });
      if (signal.aborted) give();
    });
    if (answered !== SERVING) {
      throw new NetworkError(
        `service unhealthy (responded with "${STATUS_NAMES[answered] ?? String(answered)}")`,
      );
    }
  } finally {
    client.close();
  }
}

function problem(address: string, { code, details }: ServiceError): string {
  switch (code) {
    case status.UNIMPLEMENTED:
      return (
        'server does not implement the grpc health protocol (grpc.health.v1.Health): ' + details
      );
    case status.UNAVAILABLE:
      return `timeout: failed to connect service "${address}" within the probe's time: ${details}`;
    default:
      return `health rpc probe failed: ${details}`;
  }
}
