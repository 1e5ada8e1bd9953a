// Completes a CRI message: gives every missing field its zero value, as a protobuf decoder would.
// Runtimes that respond from their own records complete their responses with it, and the gRPC
// client normalizes decoded messages.

import { enums, messages } from './schema.ts';
import type { EnumName, Input, Message, MessageName } from './types.ts';

type Zero =
  | { kind: 'value'; value: unknown }
  | { kind: 'list' }
  | { kind: 'map' }
  | { kind: 'message'; name: MessageName };

interface CompiledMessage {
  /** Every scalar field with its zero value. */
  readonly scalars: Readonly<Record<string, unknown>>;
  readonly lists: readonly string[];
  readonly maps: readonly string[];
  /** By field: the type of the message or of the list's items; undefined for other fields. */
  readonly fields: ReadonlyMap<string, MessageName | undefined>;
}

const compiled = new Map<MessageName, CompiledMessage>();

function isMessageName(type: string): type is MessageName {
  return Object.hasOwn(messages, type);
}

function isEnumName(type: string): type is EnumName {
  return Object.hasOwn(enums, type);
}

function zeroOf(type: string): Zero {
  if (type.endsWith('[]')) return { kind: 'list' };
  if (type.startsWith('map<')) return { kind: 'map' };
  if (isMessageName(type)) return { kind: 'message', name: type };
  if (isEnumName(type)) return { kind: 'value', value: Object.keys(enums[type])[0] };
  if (type === 'string') return { kind: 'value', value: '' };
  if (type === 'bool') return { kind: 'value', value: false };
  if (type === 'bytes') return { kind: 'value', value: new Uint8Array(0) };
  return { kind: 'value', value: 0 };
}

function compiledOf(name: MessageName): CompiledMessage {
  let message = compiled.get(name);
  if (message === undefined) {
    const scalars: Record<string, unknown> = {};
    const lists: string[] = [];
    const maps: string[] = [];
    const fields = new Map<string, MessageName | undefined>();
    for (const [field, [, type]] of Object.entries<readonly [number, string]>(messages[name])) {
      const zero = zeroOf(type);
      if (zero.kind === 'value') scalars[field] = zero.value;
      else if (zero.kind === 'list') lists.push(field);
      else if (zero.kind === 'map') maps.push(field);
      const item = type.replace(/\[\]$/, '');
      fields.set(field, isMessageName(item) ? item : undefined);
    }
    message = { scalars, lists, maps, fields };
    compiled.set(name, message);
  }
  return message;
}

function completeFields(
  name: MessageName,
  input: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { scalars, lists, maps, fields } = compiledOf(name);
  const out: Record<string, unknown> = { ...scalars };
  for (const field of lists) out[field] = [];
  for (const field of maps) out[field] = {};
  for (const field in input) {
    const value = input[field];
    if (value === undefined || value === null || !fields.has(field)) continue;
    const nested = fields.get(field);
    if (nested === undefined) out[field] = value;
    else if (Array.isArray(value))
      out[field] = value.map((item) => completeFields(nested, item as Record<string, unknown>));
    else out[field] = completeFields(nested, value as Record<string, unknown>);
  }
  return out;
}

/**
 * Returns `input` with every scalar, list and map, at every depth. Nested messages that are absent
 * (or null) stay absent.
 */
export function complete<N extends MessageName>(name: N, input: Input<N>): Message<N> {
  return completeFields(name, input) as Message<N>;
}
