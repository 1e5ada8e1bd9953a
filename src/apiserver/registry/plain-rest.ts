// A Rest as a plain object, which can be copied, extended and restricted. The methods of a store,
// which is an instance of a class, must be bound.

import type { Rest } from './rest.ts';

const VERBS = [
  'get',
  'list',
  'find',
  'findAll',
  'watch',
  'create',
  'update',
  'delete',
  'deleteCollection',
  'connect',
  'close',
] as const;
const FACTS = ['returnsDeletedObject', 'resetFields'] as const;

export type Verb = (typeof VERBS)[number];

/** Returns an object with the verbs of `rest`, except for some. */
export function plainRest(rest: Rest, without: readonly Verb[] = []): Rest {
  const facts = FACTS.flatMap((name) =>
    rest[name] === undefined ? [] : [[name, rest[name]] as const],
  );
  const verbs = VERBS.flatMap((verb) => {
    const call: unknown = without.includes(verb) ? undefined : rest[verb];
    return typeof call === 'function' ? [[verb, call.bind(rest)] as const] : [];
  });
  return Object.fromEntries([...facts, ...verbs]);
}
