// Named formats of text: format.dns1123Label().validate(name) returns the problems, or none.

import {
  isDNS1035Label,
  isDNS1123Label,
  isDNS1123Subdomain,
  isQualifiedName,
  isValidLabelValue,
} from '#machinery/validation/validation.ts';
import { REGEX_FACTOR, sizeOf, TEXT_FACTOR } from '../cost.ts';
import { global, member, type CallCost, type Functions, type Library } from '../declarations.ts';
import { list, opaque, optional, STRING, typeOf, type Type } from '../types.ts';
import { OpaqueValue, Optional, TypeValue } from '../values.ts';
import { urlProblem } from './url.ts';

export const FORMAT = opaque('kubernetes.NamedFormat');

type Problems = readonly string[];

class FormatValue extends OpaqueValue {
  readonly name: string;
  readonly problems: (text: string) => Problems;
  /** The length of the pattern for the cost of matching. */
  readonly regexSize: number;

  constructor(name: string, problems: (text: string) => Problems, regexSize: number) {
    super();
    this.name = name;
    this.problems = problems;
    this.regexSize = regexSize;
  }

  get type(): Type {
    return FORMAT;
  }

  equals(other: FormatValue): boolean {
    return this.name === other.name;
  }
}

/** A prefix may end in a hyphen, since more text follows. */
const asPrefix =
  (problems: (text: string) => Problems) =>
  (text: string): Problems =>
    problems(text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text);

const matching =
  (holds: (text: string) => boolean, problem: string) =>
  (text: string): Problems =>
    holds(text) ? [] : [problem];

const UUID = '^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$';
const BASE64 = String.raw`^(?:[A-Za-z0-9+\/]{4})*(?:[A-Za-z0-9+\/]{2}==|[A-Za-z0-9+\/]{3}=|[A-Za-z0-9+\/]{4})$`;
const TIME = '^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$';
const [uuid, base64, time] = [new RegExp(UUID, 'i'), new RegExp(BASE64), new RegExp(TIME)];

export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function isDateTime(text: string): boolean {
  const [date, clock, ...more] = text.toLowerCase().split('t');
  if (date === undefined || clock === undefined || more.length > 0 || !isDate(date)) return false;
  const parts = time.exec(clock);
  return (
    parts !== null && Number(parts[1]) <= 23 && Number(parts[2]) <= 59 && Number(parts[3]) <= 59
  );
}

/** The length of the pattern for the cost of matching a URL. Nothing is matched against it. */
const URL_PATTERN_SIZE = 1500;

const formats: Readonly<Record<string, FormatValue>> = Object.fromEntries(
  (
    [
      ['dns1123Label', 'DNS1123Label', isDNS1123Label, 30],
      ['dns1123Subdomain', 'DNS1123Subdomain', isDNS1123Subdomain, 60],
      ['dns1035Label', 'DNS1035Label', isDNS1035Label, 30],
      ['qualifiedName', 'QualifiedName', isQualifiedName, 60],
      ['dns1123LabelPrefix', 'DNS1123LabelPrefix', asPrefix(isDNS1123Label), 30],
      ['dns1123SubdomainPrefix', 'DNS1123SubdomainPrefix', asPrefix(isDNS1123Subdomain), 60],
      ['dns1035LabelPrefix', 'DNS1035LabelPrefix', asPrefix(isDNS1035Label), 30],
      ['labelValue', 'LabelValue', isValidLabelValue, 40],
      [
        'uri',
        'URI',
        (text: string) => [urlProblem(text)].filter((problem) => problem !== undefined),
        URL_PATTERN_SIZE,
      ],
      [
        'uuid',
        'uuid',
        matching((text) => uuid.test(text), 'does not match the UUID format'),
        UUID.length + '(?i)'.length,
      ],
      ['byte', 'byte', matching((text) => base64.test(text), 'invalid base64'), BASE64.length],
      ['date', 'date', matching(isDate, 'invalid date'), TIME.length],
      ['datetime', 'datetime', matching(isDateTime, 'invalid datetime'), TIME.length],
    ] as const
  ).map(([key, name, problems, regexSize]) => [key, new FormatValue(name, problems, regexSize)]),
);

function validate(format: FormatValue, text: string): Optional {
  const problems = format.problems(text);
  return problems.length === 0 ? Optional.none : new Optional(problems);
}

function named(name: string): Optional {
  const format = Object.hasOwn(formats, name) ? formats[name] : undefined;
  return format === undefined ? Optional.none : new Optional(format);
}

const matches: CallCost = ([format, text]) =>
  Math.ceil((1 + sizeOf(text)) * TEXT_FACTOR) *
  Math.ceil((format as FormatValue).regexSize * REGEX_FACTOR);

const byName: Functions = Object.fromEntries(
  Object.entries(formats).map(([name, format]) => [
    `format.${name}`,
    [global(`format.${name}`, [], FORMAT, () => format)],
  ]),
);

/** The functions return optionals, so this library requires theirs. */
export const formatLibrary: Library = {
  name: 'format',
  constants: {
    'kubernetes.NamedFormat': {
      type: typeOf(FORMAT),
      value: new TypeValue('kubernetes.NamedFormat'),
    },
  },
  functions: {
    ...byName,
    'format.named': [global('format-named', [STRING], optional(FORMAT), named)],
    validate: [
      member('format-validate', [FORMAT, STRING], optional(list(STRING)), validate, matches),
    ],
  },
};
