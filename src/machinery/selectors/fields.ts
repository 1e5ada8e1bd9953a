// Field selectors: 'metadata.name=a,status.phase!=Running'. Which fields a kind can be selected by is the kind's business;
// here is the grammar. Meant for `import * as fields`.

/** The values of the fields that an object can be selected by. A field that is not there counts as ''. */
export type Fields = Readonly<Record<string, string>>;

export interface Requirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A selector's text could not be read. The message is the one that clients of Kubernetes know. */
export class FieldSelectorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FieldSelectorError';
  }
}

/** Gives a term another field or value (or throws); both empty takes the term away. */
export type TransformFunc = (
  field: string,
  value: string,
) => { readonly field: string; readonly value: string };

/** Immutable; all its requirements must hold. */
export class Selector {
  readonly #requirements: readonly Requirement[];

  /** Callers use the functions below. */
  constructor(requirements: readonly Requirement[]) {
    this.#requirements = requirements;
  }

  matches(fields: Fields): boolean {
    for (const { field, operator, value } of this.#requirements) {
      const found: unknown = fields[field];
      // Inherited properties are not strings, so they do not count as fields.
      const actual = typeof found === 'string' ? found : '';
      if ((actual === value) !== (operator === '=')) return false;
    }
    return true;
  }

  /** True if it restricts nothing. */
  empty(): boolean {
    return this.#requirements.length === 0;
  }

  /** The value that the field must have, if the selector says so with '='. */
  requiresExactMatch(field: string): string | undefined {
    return this.#requirements.find(
      (requirement) => requirement.field === field && requirement.operator === '=',
    )?.value;
  }

  /** The selector with each term replaced. Throws what `transform` throws. */
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

  /** The canonical text, which `parseSelector` reads again. */
  toString(): string {
    return this.#requirements
      .map(({ field, operator, value }) => `${field}${operator}${escapeValue(value)}`)
      .join(',');
  }
}

const EVERYTHING = new Selector([]);

/** Matches all objects. */
export function everything(): Selector {
  return EVERYTHING;
}

/** The one field must have this value. */
export function oneTermEqualSelector(field: string, value: string): Selector {
  return new Selector([{ field, operator: '=', value }]);
}

/** The one field must not have this value. */
export function oneTermNotEqualSelector(field: string, value: string): Selector {
  return new Selector([{ field, operator: '!=', value }]);
}

/** All of these fields must have these values. */
export function selectorFromSet(set: Fields): Selector {
  return new Selector(
    Object.entries(set).map(([field, value]) => ({ field, operator: '=', value })),
  );
}

/** All requirements of all these selectors. */
export function andSelectors(...selectors: readonly Selector[]): Selector {
  return new Selector(selectors.flatMap((selector) => selector.requirements()));
}

/** Reads terms with =, == and != between commas; '\\', '\,' and '\=' stand for the character. Throws FieldSelectorError. */
export function parseSelector(text: string): Selector {
  if (text === '') return EVERYTHING;
  const requirements: Requirement[] = [];
  // Sorted, so that the same terms make the same selector.
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

/** As `parseSelector`, each term transformed. */
export function parseAndTransformSelector(text: string, transform: TransformFunc): Selector {
  return parseSelector(text).transform(transform);
}

/** The value as a selector's text has it. */
export function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

/** Returns the value that `escapeValue` has escaped. Throws FieldSelectorError. */
export function unescapeValue(text: string): string {
  if (!/[\\,=]/.test(text)) return text;
  return text.replace(/\\(.?)|[,=]/gsu, (match, escaped: string | undefined) => {
    if (escaped === undefined) {
      // Upstream shows the character by its number.
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

/** At commas that no backslash stands before. */
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
