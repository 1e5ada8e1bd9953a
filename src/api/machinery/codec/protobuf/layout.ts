// The protobuf layout of a type: its fields by number, and embedded structs as messages.

import type { FieldDescriptor, MessageDescriptor } from '#api/machinery/descriptor.ts';

export interface Layout {
  /** The members in ascending order of number. */
  readonly members: readonly Member[];
  readonly byNumber: ReadonlyMap<number, Member>;
}

/** A field, or an embedded struct whose fields are among those of the outer struct in JSON. */
export type Member = { readonly number: number } & (
  | { readonly field: FieldDescriptor }
  | { readonly embedded: Layout }
);

const layouts = new WeakMap<MessageDescriptor, Layout>();

export function layoutOf(message: MessageDescriptor): Layout {
  let layout = layouts.get(message);
  if (layout === undefined) {
    layout = arrange(
      message.fields.filter((field) => field.number !== 0),
      0,
    );
    layouts.set(message, layout);
  }
  return layout;
}

/** Arranges fields. `depth`: the number of enclosing embedded structs. */
function arrange(fields: readonly FieldDescriptor[], depth: number): Layout {
  const embedded = new Map<number, FieldDescriptor[]>();
  const members: Member[] = [];
  for (const field of fields) {
    const outer = field.within?.[depth];
    if (outer === undefined) members.push({ number: field.number, field });
    else embedded.set(outer, [...(embedded.get(outer) ?? []), field]);
  }
  for (const [number, inner] of embedded)
    members.push({ number, embedded: arrange(inner, depth + 1) });
  members.sort((a, b) => a.number - b.number);
  return { members, byNumber: new Map(members.map((member) => [member.number, member])) };
}
