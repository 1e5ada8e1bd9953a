// The object of a response as JSON. Texts, streams and watches have none.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import { isLarge, nextTurn } from '#machinery/turn.ts';
import type { EncodedObject, ResponseBody } from '../request.ts';
import { itemsField, type ListBody, listHead } from '../http/list-layout.ts';
import { withoutManagedFields } from './record.ts';

/** So many items of a list are encoded in one turn of the event loop. */
const ITEMS_OF_A_TURN = 50;

/** Resolves with the JSON; undefined if the body is no object. */
export async function responseJson(
  body: ResponseBody,
  omitManagedFields: boolean,
): Promise<string | undefined> {
  if (body.kind === 'object') {
    const object = body.object.object() as object;
    if (isLarge(object)) await nextTurn();
    return omitManagedFields
      ? stringifyJson(withoutManagedFields(object))
      : Buffer.from(body.object.jsonLine()).toString('utf8').trimEnd();
  }
  if (body.kind !== 'list') return undefined;
  const items: string[] = [];
  for (const item of body.items) {
    if (items.length > 0 && items.length % ITEMS_OF_A_TURN === 0) await nextTurn();
    items.push(
      omitManagedFields
        ? itemWithoutManagedFields(item, body)
        : itemJson(item, body.identifiedItems === true),
    );
  }
  return `${JSON.stringify(listHead(body)).slice(0, -1)},"${itemsField(body)}":[${items.join(',')}]}`;
}

/** Returns an item as it is in the list: without kind and apiVersion, unless it has its own. */
function itemJson(item: EncodedObject, identified: boolean): string {
  const bytes = Buffer.alloc(item.itemLength(identified));
  item.copyItem(bytes, 0, identified);
  return bytes.toString('utf8');
}

function itemWithoutManagedFields(item: EncodedObject, body: ListBody): string {
  if (body.columnDefinitions !== undefined) {
    const table = withoutManagedFields({ rows: [item.object()] }) as { rows: readonly object[] };
    return stringifyJson(table.rows[0]);
  }
  const identified = body.identifiedItems === true;
  const object = withoutManagedFields(item.object() as object);
  return stringifyJson(identified ? object : { ...object, kind: undefined, apiVersion: undefined });
}
