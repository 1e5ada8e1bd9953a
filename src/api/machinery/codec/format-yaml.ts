// Encodes objects as YAML for clients that ask for it, in the form of upstream's encoder: keys are
// sorted, and lists have the indentation of their key.

import { Document, isScalar, type Pair, Scalar, visit } from 'yaml';

/** Texts that YAML 1.2 or older parsers read as octal numbers or as a merge key. */
const READ_AS_OTHER = /^([-+]?0o[0-7_]+|<<)$/;

/**
 * Encodes a value. Every text is preserved: also one of blanks and line ends only, which would lose
 * its blanks in a block.
 */
export function formatYaml(value: unknown): string {
  const document = new Document(value, {
    version: '1.1',
    aliasDuplicateObjects: false,
    sortMapEntries: (a, b) => compareKeys(keyOf(a), keyOf(b)),
  });
  visit(document, {
    Scalar(_key, node) {
      const text = node.value;
      if (typeof text !== 'string') return;
      const isBlank = text.includes('\n') && text.trim() === '';
      if (isBlank || READ_AS_OTHER.test(text)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0, indentSeq: false });
}

const keyOf = ({ key }: Pair): string => String(isScalar(key) ? key.value : key);

const DIGIT = /^\p{Nd}$/u;
const LETTER = /^\p{L}$/u;

/**
 * Orders keys as go-yaml does: numbers in them count as numbers ('a9' before 'a10'), and other
 * characters come before letters.
 */
export function compareKeys(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  const shorter = Math.min(left.length, right.length);
  let at = 0;
  while (at < shorter && left[at] === right[at]) at++;
  if (at === shorter) return left.length - right.length;
  const [first, second] = [left[at]!, right[at]!];
  const [isLetter, isOtherLetter] = [LETTER.test(first), LETTER.test(second)];
  if (isLetter !== isOtherLetter) {
    const afterDigit = at > 0 && DIGIT.test(left[at - 1]!);
    return isLetter === afterDigit ? -1 : 1;
  }
  const order = isLetter ? 0 : compareNumbers(left, right, at);
  return order !== 0 ? order : first.codePointAt(0)! - second.codePointAt(0)!;
}

/** Compares the numbers that end the common beginning and go on at `at`. Shorter ones are smaller. */
function compareNumbers(left: readonly string[], right: readonly string[], at: number): number {
  let start = at;
  while (start > 0 && DIGIT.test(left[start - 1]!)) start--;
  const digits = (text: readonly string[]): string => {
    let end = at;
    while (end < text.length && DIGIT.test(text[end]!)) end++;
    return text.slice(start, end).join('');
  };
  const [own, other] = [digits(left), digits(right)];
  const [value, otherValue] = [own.replace(/^0+/, ''), other.replace(/^0+/, '')];
  if (value.length !== otherValue.length) return value.length - otherValue.length;
  if (value !== otherValue) return value < otherValue ? -1 : 1;
  return own.length - other.length;
}
