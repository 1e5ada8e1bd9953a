// The line for a query that CoreDNS' directive `log` writes, in its common format.

import { formatName, readLabels } from '../wire/names.ts';
import type { Query } from '../wire/query.ts';
import { FLAG, HEADER_LENGTH, rcodeName, typeName } from '../wire/types.ts';
import type { SocketAddress } from '../system/sockets.ts';
import type { Protocol } from '../metrics.ts';

export interface LoggedQuery {
  /** Absent: the query comes from this process. */
  readonly client: SocketAddress | undefined;
  readonly proto: Protocol;
  readonly query: Query;
  readonly answer: Buffer;
  readonly rcode: number;
  readonly seconds: number;
}

const DEFAULT_UDP_SIZE = 512;
const FLAG_NAMES = ['QR', 'AA', 'TC', 'RD', 'RA', 'AD', 'CD'] as const;

export function queryLine({ client, proto, query, answer, rcode, seconds }: LoggedQuery): string {
  const { message, type, edns } = query;
  const at = client === undefined ? '-' : remoteOf(client);
  const name = formatName(readLabels(message, HEADER_LENGTH));
  const typeText = typeName(type) === 'other' ? `TYPE${type}` : typeName(type);
  const question =
    `${typeText} IN ${name} ${proto} ${message.length} ` +
    `${edns?.dnssecOk === true} ${edns?.udpSize ?? DEFAULT_UDP_SIZE}`;
  const bits = answer.readUInt16BE(2);
  const flags = FLAG_NAMES.filter((flag) => (bits & FLAG[flag]) !== 0).map((flag) =>
    flag.toLowerCase(),
  );
  return (
    `[INFO] ${at} - ${message.readUInt16BE(0)} "${question}" ` +
    `${rcodeName(rcode)} ${flags.join(',')} ${answer.length} ${seconds.toFixed(9)}s\n`
  );
}

const remoteOf = ({ address, port }: SocketAddress): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
