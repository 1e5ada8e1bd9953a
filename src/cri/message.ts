// Completes a CRI message: gives every field that was left out its zero value, as a protobuf decoder would. Runtimes that
// answer from their own records build their answers with it, and the gRPC client normalizes what it decoded.

import { enums, messages } from './schema.ts';
import type { EnumName, Input, Message, MessageName } from './types.ts';

type Zero = { kind: 'value'; value: unknown } | { kind: 'list' } | { kind: 'map' } | { kind: 'message'; name: MessageName };
interface CompiledField {
  readonly name: string;
  readonly zero: Zero;
  /** The message that the field, or each of its items, is made of. */
  readonly nested: MessageName | undefined;
}

const compiled = new Map<MessageName, readonly CompiledField[]>();

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

function fieldsOf(name: MessageName): readonly CompiledField[] {
  let fields = compiled.get(name);
  if (fields === undefined) {
    fields = Object.entries<readonly [number, string]>(messages[name]).map(([field, [, type]]) => {
      const item = type.replace(/\[\]$/, '');
      return { name: field, zero: zeroOf(type), nested: isMessageName(item) ? item : undefined };
    });
    compiled.set(name, fields);
  }
  return fields;
}

function completeFields(name: MessageName, input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const { name: field, zero, nested } of fieldsOf(name)) {
    const value = input[field] ?? undefined;
    if (value === undefined) {
      if (zero.kind === 'value') out[field] = zero.value;
      else if (zero.kind === 'list') out[field] = [];
      else if (zero.kind === 'map') out[field] = {};
    } else if (nested === undefined) {
      out[field] = value;
    } else if (Array.isArray(value)) {
      out[field] = value.map((item) => completeFields(nested, item as Record<string, unknown>));
    } else {
      out[field] = completeFields(nested, value as Record<string, unknown>);
    }
  }
  return out;
}

/** `input` with every scalar, list and map there, at every depth; nested messages that are absent (or null) stay absent. */
export function complete<N extends MessageName>(name: N, input: Input<N>): Message<N> {
  return completeFields(name, input) as Message<N>;
}
