// Values of any type in the protobuf of OpenAPI v2, which has them as YAML.

/** Texts of which every YAML parser knows that they are texts. */
const PLAIN = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
/** Words that parsers of YAML 1.1 read as truth values or null. */
const WORD = /^(true|false|yes|no|on|off|null|y|n)$/i;

/**
 * Returns the JSON value as YAML with a line for each item and each member, in the form of
 * upstream's documents: clients may compare their text. Texts that need quotes have those of JSON,
 * where upstream may choose others.
 */
export function blockYaml(value: unknown): string {
  return `${block(value, 0)}\n`;
}

/** Returns the lines of the value; the first one has no indentation. */
function block(value: unknown, indent: number): string {
  if (isScalar(value)) return scalar(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => `- ${block(item, indent + 2)}`);
    return items.join(lineBreak(indent));
  }
  const members = Object.entries(value as object).map(([name, member]: [string, unknown]) =>
    isScalar(member)
      ? `${scalar(name)}: ${scalar(member)}`
      : `${scalar(name)}:${lineBreak(indent + 4)}${block(member, indent + 4)}`,
  );
  return members.join(lineBreak(indent));
}

const lineBreak = (indent: number): string => `\n${' '.repeat(indent)}`;

/** Reports whether the value has one line. */
const isScalar = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || Object.keys(value).length === 0;

const scalar = (value: unknown): string =>
  typeof value === 'string' && PLAIN.test(value) && !WORD.test(value)
    ? value
    : JSON.stringify(value);
