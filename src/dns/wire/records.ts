// The records of an answer, as values.

import { parseName, type Labels } from './names.ts';
import { TYPE } from './types.ts';

export interface ResourceRecord {
  /** The name of the record; undefined: the name of the question, in its original case. */
  readonly owner: Labels | undefined;
  readonly type: number;
  readonly ttl: number;
  readonly data: RecordData;
}

/** The data by type; `bytes`: the data of any other type, without compressed names. */
export type RecordData =
  | { readonly address: Uint8Array }
  | { readonly target: Labels }
  | {
      readonly port: number;
      readonly weight: number;
      readonly priority: number;
      readonly target: Labels;
    }
  | { readonly texts: readonly string[] }
  | {
      readonly primary: Labels;
      readonly mailbox: Labels;
      readonly numbers: readonly [number, number, number, number, number];
    }
  | { readonly bytes: Uint8Array };

/** The sections of an answer after the question. */
export interface Sections {
  readonly answers: readonly ResourceRecord[];
  readonly authorities: readonly ResourceRecord[];
  readonly additionals: readonly ResourceRecord[];
}

export function addressRecord(
  owner: Labels | undefined,
  address: Uint8Array,
  ttl: number,
): ResourceRecord {
  return { owner, type: address.length === 4 ? TYPE.A : TYPE.AAAA, ttl, data: { address } };
}

export function nameRecord(
  type: typeof TYPE.CNAME | typeof TYPE.PTR | typeof TYPE.NS,
  owner: Labels | undefined,
  target: Labels,
  ttl: number,
): ResourceRecord {
  return { owner, type, ttl, data: { target } };
}

/** Returns the record that limits how long a negative answer may be cached. */
export function soaRecord(zone: Labels, serial: number, ttl: number): ResourceRecord {
  const at = (name: string): Labels => [...(parseName(name) as Labels), ...zone];
  const numbers = [serial, 7200, 1800, 86_400, ttl] as const;
  return {
    owner: zone,
    type: TYPE.SOA,
    ttl,
    data: { primary: at('ns.dns'), mailbox: at('hostmaster'), numbers },
  };
}
