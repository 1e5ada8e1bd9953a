// Prints a value as Go's library spew does with the verb %#v: the types of composite values and of
// a struct's fields are printed, those of a list's or map's elements are not. Upstream's checkpoints
// have checksums of this text.

/** A value with the name of its Go type. null is a nil list or map. */
export type GoValue =
  | { readonly type: string; readonly value: string | readonly GoValue[] | null }
  | {
      readonly type: string;
      readonly fields: Readonly<Record<string, GoValue>>;
      /** The value is a pointer to the struct; its type begins with '*'. */
      readonly isPointer?: true;
    }
  /** A map, with its keys in order. */
  | {
      readonly type: string;
      readonly entries: readonly (readonly [string, GoValue])[] | null;
    };

/** Returns the text, which begins with the type. */
export function spew(value: GoValue): string {
  return `(${value.type})${'fields' in value ? struct(value.fields) : untyped(value)}`;
}

function struct(fields: Readonly<Record<string, GoValue>>): string {
  const list = Object.entries(fields).map(([name, field]) => `${name}:${spew(field)}`);
  return `{${list.join(' ')}}`;
}

function untyped(value: GoValue): string {
  if ('fields' in value) return `${value.isPointer === true ? '<*>' : ''}${struct(value.fields)}`;
  if ('entries' in value) {
    if (value.entries === null) return '<nil>';
    return `map[${value.entries.map(([key, item]) => `${key}:${untyped(item)}`).join(' ')}]`;
  }
  if (value.value === null) return '<nil>';
  if (typeof value.value === 'string') return value.value;
  return `[${value.value.map(untyped).join(' ')}]`;
}
