// A list in a form for people: indented JSON, or YAML. Its items are encoded in slices.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import { outsideWork } from '#machinery/pending-work.ts';
import type { EncodedObject, ResponseFormat } from '../request.ts';
import { EncodingSlices, itemsField, type ListBody, listHead } from './list-layout.ts';

/** Returns the same bytes as the encoding of the whole list. */
export async function readableList(body: ListBody, format: ResponseFormat): Promise<Uint8Array> {
  return format.mediaType === 'application/json' ? indentedList(body) : yamlList(body);
}

async function indentedList(body: ListBody): Promise<Uint8Array> {
  const head = stringifyJson(listHead(body), 2).slice(0, -'\n}'.length);
  const open = `${head},\n  "${itemsField(body)}": [`;
  if (body.items.length === 0) return Buffer.from(`${open}]\n}`, 'utf8');
  const items = await encodeItems(body, (item, index) => {
    const text = stringifyJson(item, 2).replaceAll('\n', '\n    ');
    return `${index === 0 ? '' : ','}\n    ${text}`;
  });
  return Buffer.concat([Buffer.from(open, 'utf8'), ...items, Buffer.from('\n  ]\n}', 'utf8')]);
}

async function yamlList(body: ListBody): Promise<Uint8Array> {
  const { formatYaml } = await outsideWork(import('#api/machinery/codec/format-yaml.ts'));
  const { kind, apiVersion, metadata, ...more } = listHead(body);
  const field = itemsField(body);
  if (body.items.length === 0)
    return Buffer.from(formatYaml({ kind, apiVersion, metadata, ...more, [field]: [] }), 'utf8');
  const items = await encodeItems(body, (item) => formatYaml([item]));
  // Keys are sorted: `items` comes before `kind`, and `rows` comes last.
  const [before, after] =
    field === 'items'
      ? [formatYaml({ apiVersion }), formatYaml({ kind, metadata })]
      : [formatYaml({ apiVersion, kind, metadata, ...more }), ''];
  const open = Buffer.from(`${before}${field}:\n`, 'utf8');
  return Buffer.concat([open, ...items, Buffer.from(after, 'utf8')]);
}

async function encodeItems(
  { items, identifiedItems = false }: ListBody,
  encode: (item: unknown, index: number) => string,
): Promise<Buffer[]> {
  const encoded: Buffer[] = [];
  const slices = new EncodingSlices(READABLE_COST);
  for (const [index, item] of items.entries()) {
    if (slices.isOver) await slices.next();
    const value = identifiedItems ? item.object() : itemOf(item);
    const bytes = Buffer.from(encode(value, index), 'utf8');
    encoded.push(bytes);
    slices.add(bytes.length);
  }
  return encoded;
}

/** These forms take so many times as long as compact JSON: YAML most. */
const READABLE_COST = 20;

/** Returns the object as an item of a list, which has its kind only if it needs one. */
function itemOf(item: EncodedObject): unknown {
  const bytes = Buffer.allocUnsafe(item.itemLength());
  item.copyItem(bytes, 0);
  return JSON.parse(bytes.toString('utf8'));
}
