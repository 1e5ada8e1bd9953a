// The warnings for writes of a definition: formats without validation.

import { formatOf } from '#api/machinery/codec/structural/formats.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { Definition, Spec } from './validation/definition.ts';
import { internalForm } from './validation/internal-form.ts';
import { schemaOf, schemasIn } from './validation/schema-walk.ts';

/** Returns the warnings about a definition. Formats of `old` cause no warnings. */
export function definitionWarnings({ spec }: Definition, old?: Definition): readonly string[] {
  const oldFormats = new Set(old === undefined ? [] : unrecognizedFormats(old.spec));
  return unrecognizedFormats(spec)
    .filter((format) => !oldFormats.has(format))
    .map((format) => `unrecognized format ${quote(format)}`);
}

function unrecognizedFormats(spec: Spec): string[] {
  const { common, versions } = internalForm(spec);
  return [common, ...versions].flatMap((fields) => {
    const source = schemaOf(fields);
    if (source === undefined) return [];
    return [...schemasIn(source)].flatMap(({ type = '', format = '' }) =>
      format === formatOf(type, format) ? [] : [format],
    );
  });
}
