// Sends a question to a server in this process, without a socket.

import { decode, encode, type RecordType } from 'dns-packet';
import type { DnsRecordType, Resolved } from './resolved.ts';
import type { DnsServer } from './serving/dns-server.ts';
import { rcodeName } from './wire/types.ts';

/** Returns the response. Throws TypeError for a name or type that a question cannot have. */
export async function resolveWith(
  server: DnsServer,
  name: string,
  type: DnsRecordType,
): Promise<Resolved> {
  let query: Buffer;
  try {
    query = encode({
      type: 'query',
      id: 1,
      flags: 0x0100,
      questions: [{ name, type: type satisfies RecordType }],
    });
  } catch (error) {
    throw new TypeError(
      `${JSON.stringify(name)} ${type} is no question: ${(error as Error).message}`,
      { cause: error },
    );
  }
  const message = await server.ask(query);
  if (message === undefined)
    throw new TypeError(`${JSON.stringify(name)} is no name that can be asked for`);
  const { answers = [], additionals = [] } = decode(message);
  return {
    rcode: rcodeName(message.readUInt16BE(2) & 0xf),
    answers,
    additionals,
  };
}
