// Field selectors: 'metadata.name=a,status.phase!=Running'. Each kind defines its selectable
// fields; this module defines the grammar. Meant for `import * as fields`.

/** The values of an object's selectable fields. A missing field counts as ''. */
export type Fields = Readonly<Record<string, string>>;

export interface Requirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** The text is not a field selector. The message is upstream's. */
export class FieldSelectorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FieldSelectorError';
  }
}

/** Returns another field or value for a term. If both are empty, the term is removed. May throw. */
export type TransformFunc = (
  field: string,
  value: string,
) => { readonly field: string; readonly value: string };

/** An immutable selector. All its requirements must hold. */
export class Selector {
  readonly #requirements: readonly Requirement[];

  /** Callers use the functions below. */
  constructor(requirements: readonly Requirement[]) {
    this.#requirements = requirements;
  }

  matches(fields: Fields): boolean {
    for (const { field, operator, value } of this.#requirements) {
      const fieldValue: unknown = fields[field];
      // Inherited properties are not strings, so they do not count as fields.
      const actual = typeof fieldValue === 'string' ? fieldValue : '';
      if ((actual === value) !== (operator === '=')) return false;
    }
    return true;
  }

  /** Reports whether the selector matches everything. */
  empty(): boolean {
    return this.#requirements.length === 0;
  }

  /** Returns the value that the field must have, if the selector demands one with '='. */
  requiresExactMatch(field: string): string | undefined {
    return this.#requirements.find(
      (requirement) => requirement.field === field && requirement.operator === '=',
    )?.value;
  }

  /** Returns the selector with each term replaced. Throws the error of `transform`. */
  transform(transform: TransformFunc): Selector {
    const requirements: Requirement[] = [];
    for (const { field, operator, value } of this.#requirements) {
      const changed = transform(field, value);
      if (changed.field !== '' || changed.value !== '') requirements.push({ ...changed, operator });
    }
    return new Selector(requirements);
  }

  requirements(): readonly Requirement[] {
    return this.#requirements;
  }

  /** Returns the canonical text, which `parseSelector` can read. */
  toString(): string {
    return this.#requirements
      .map(({ field, operator, value }) => `${field}${operator}${escapeValue(value)}`)
      .join(',');
  }
}

const EVERYTHING = new Selector([]);

/** Returns a selector that matches all objects. */
export function everything(): Selector {
  return EVERYTHING;
}

/** Returns a selector: the field must have this value. */
export function oneTermEqualSelector(field: string, value: string): Selector {
  return new Selector([{ field, operator: '=', value }]);
}

/** Returns a selector: the field must not have this value. */
export function oneTermNotEqualSelector(field: string, value: string): Selector {
  return new Selector([{ field, operator: '!=', value }]);
}

/** Returns a selector: all of these fields must have these values. */
export function selectorFromSet(set: Fields): Selector {
  return new Selector(
    Object.entries(set).map(([field, value]) => ({ field, operator: '=', value })),
  );
}

/** Returns a selector with the requirements of all given selectors. */
export function andSelectors(...selectors: readonly Selector[]): Selector {
  return new Selector(selectors.flatMap((selector) => selector.requirements()));
}

/**
 * Parses terms with =, == and != between commas. '\\', '\,' and '\=' stand for the character.
 * Throws FieldSelectorError.
 */
export function parseSelector(text: string): Selector {
  if (text === '') return EVERYTHING;
  const requirements: Requirement[] = [];
  // Sorted, so that the same terms give the same selector.
  for (const term of splitTerms(text).sort()) {
    if (term === '') continue;
    const parts = /^(?<field>[^=!]*(?:!(?!=)[^=!]*)*)(?<operator>!=|==|=)(?<value>.*)$/s.exec(
      term,
    )?.groups;
    if (parts === undefined)
      throw new FieldSelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
    const operator = parts.operator === '!=' ? '!=' : '=';
    requirements.push({
      field: parts.field ?? '',
      operator,
      value: unescapeValue(parts.value ?? ''),
    });
  }
  return new Selector(requirements);
}

/** Parses a selector as `parseSelector` does, and transforms each term. */
export function parseAndTransformSelector(text: string, transform: TransformFunc): Selector {
  return parseSelector(text).transform(transform);
}

/** Escapes a value for the text of a selector. */
export function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

/** Reverses `escapeValue`. Throws FieldSelectorError. */
export function unescapeValue(text: string): string {
  if (!/[\\,=]/.test(text)) return text;
  return text.replace(/\\(.?)|[,=]/gsu, (match, escaped: string | undefined) => {
    if (escaped === undefined) {
      // Upstream shows the character's number.
      throw new FieldSelectorError(
        `invalid field selector: unescaped character in value: ${match.charCodeAt(0)}`,
      );
    }
    if (escaped !== '\\' && escaped !== ',' && escaped !== '=') {
      throw new FieldSelectorError(`invalid field selector: invalid escape sequence: ${match}`);
    }
    return escaped;
  });
}

/** Splits a text at the commas without a backslash before them. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let position = 0; position < text.length; position++) {
    if (text[position] === '\\') position++;
    else if (text[position] === ',') {
      terms.push(text.slice(start, position));
      start = position + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}
