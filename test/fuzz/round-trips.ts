// Fills every kind with random values and sends it through every encoding and conversion: the
// result must equal the input.

import { decodeObject, encodeObject } from '#api/machinery/codec/index.ts';
import {
  decodeProtobuf,
  encodeProtobuf,
  openEnvelope,
} from '#api/machinery/codec/protobuf/index.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import type { GroupVersionKind, MessageDescriptor } from '#api/machinery/descriptor.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { fuzzObject, settlesFirst } from '#api/testing/fuzz.ts';
import { SeededRandom } from '#machinery/random.ts';

export interface RoundTripsOptions {
  /** The number of random objects of each kind. */
  readonly fills: number;
  readonly seed: string;
  readonly progress?: (kind: string) => void;
}

export interface RoundTripsResult {
  readonly kinds: number;
  readonly objects: number;
  readonly conversions: number;
  readonly problems: readonly string[];
}

type Kind = MessageDescriptor & { readonly gvk: GroupVersionKind };

const MOST_PROBLEMS = 20;

export function roundTrips({ fills, seed, progress }: RoundTripsOptions): RoundTripsResult {
  const scheme = newDefaultScheme();
  const kinds = allSchemas.schemas
    .flatMap((schema) => allSchemas.messagesOf(schema))
    .filter((message): message is Kind => message.gvk !== undefined);
  const problems: string[] = [];
  let objects = 0;
  let conversions = 0;
  for (const kind of kinds) {
    const others = kinds.filter(
      (other) => other !== kind && scheme.canConvert(kind.gvk, other.gvk),
    );
    const random = new SeededRandom(`${seed}/${kind.key}`);
    for (let fill = 0; fill < fills && problems.length < MOST_PROBLEMS; fill++) {
      const object = fuzzObject(kind, random);
      const text = JSON.stringify(object);
      const compare = (what: string, back: () => unknown, expected = text): void => {
        let found: string;
        try {
          found = JSON.stringify(back());
        } catch (error) {
          found = String(error);
        }
        if (found === expected) return;
        problems.push(
          `${kind.key}, fill ${fill} of seed '${seed}', through ${what}:\n  ${expected}\n  ${found}`,
        );
      };
      compare(
        'JSON',
        () =>
          decodeObject(kind, JSON.parse(Buffer.from(encodeObject(object)).toString('utf8'))).object,
      );
      if (inProtobuf(kind))
        compare('protobuf', () => decodeProtobuf(kind, openEnvelope(encodeProtobuf(kind, object))));
      for (const other of others) {
        const thereAndBack = (from: typeof object): typeof object =>
          scheme.convert(scheme.convert(from, kind.gvk, other.gvk), other.gvk, kind.gvk);
        const first = settlesFirst(kind) ? thereAndBack(object) : object;
        compare(other.key, () => thereAndBack(first), JSON.stringify(first));
        conversions++;
      }
      objects++;
    }
    progress?.(kind.key);
  }
  return { kinds: kinds.length, objects, conversions, problems };
}

/**
 * Returns whether upstream's protobuf has the message: tables and discovery documents are not in
 * it.
 */
function inProtobuf(message: MessageDescriptor): boolean {
  return !message.fields.every(({ number }) => number === 0);
}
