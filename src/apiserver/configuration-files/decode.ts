// Decodes configuration files. Unknown fields and duplicate keys are errors, except where upstream
// only warns of unknown fields. The messages are upstream's, without the places in its sources.

import { configurationSchemas } from '#api/configuration-schemas.ts';
import { DecodeError, decodeObject, parseYaml, YamlError } from '#api/machinery/codec/index.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import { jsonType } from '#machinery/text/go-value.ts';

/** The kind that a file must have. */
export interface ExpectedKind {
  readonly group: string;
  /** The accepted versions. Their fields are the same. */
  readonly versions: readonly string[];
  /** Versions of another group that are accepted, too, as in 'group/version'. Default: none. */
  readonly otherVersions?: readonly string[];
  readonly kind: string;
  /** The type's key among `configurationSchemas`. */
  readonly type: string;
}

/** The text is not the expected configuration. The message is upstream's. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** Decodes YAML or JSON. Throws ConfigurationError. */
export function decodeConfiguration<T>(text: string, expected: ExpectedKind): T {
  return decodeConfigurationValue<T>(parseConfiguration(text), expected, text);
}

/**
 * Decodes a parsed file, or a part of one. `text`: the text for messages. Throws
 * ConfigurationError.
 */
export function decodeConfigurationValue<T>(
  value: unknown,
  expected: ExpectedKind,
  text = JSON.stringify(value),
): T {
  const { configuration, unknownFields } = decodeValue<T>(value, expected, text);
  if (unknownFields.length > 0) {
    const problems = unknownFields.map((path) => `unknown field ${quote(path)}`);
    throw new ConfigurationError(`strict decoding error: ${problems.join(', ')}`);
  }
  return configuration;
}

/** A configuration, and the paths of fields that its kind does not have. */
export interface LenientlyDecoded<T> {
  readonly configuration: T;
  readonly unknownFields: readonly string[];
}

/** Decodes YAML or JSON, and leaves unknown fields out. Throws ConfigurationError. */
export function decodeLeniently<T>(text: string, expected: ExpectedKind): LenientlyDecoded<T> {
  return decodeValue<T>(parseConfiguration(text), expected, text);
}

function decodeValue<T>(value: unknown, expected: ExpectedKind, text: string): LenientlyDecoded<T> {
  checkKind(value, expected, text);
  let decoded;
  try {
    decoded = decodeObject(configurationSchemas.message(expected.type), value);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new ConfigurationError(error.message, { cause: error });
  }
  const { object, unknownFields } = decoded;
  return { configuration: object as T, unknownFields };
}

/** Parses YAML or JSON. Throws ConfigurationError. */
export function parseConfiguration(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const { message } = error;
    throw new ConfigurationError(message.startsWith('yaml: ') ? message : `yaml: ${message}`, {
      cause: error,
    });
  }
}

function checkKind(value: unknown, expected: ExpectedKind, text: string): void {
  if (value !== null && !isPlainObject(value))
    throw new ConfigurationError(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(value)} into ` +
        'Go value of type struct',
    );
  const { kind = '', apiVersion = '' } = value ?? {};
  if (kind === '') throw new ConfigurationError(`Object 'Kind' is missing in '${shorten(text)}'`);
  if (apiVersion === '')
    throw new ConfigurationError(`Object 'apiVersion' is missing in '${shorten(text)}'`);
  const versions = [
    ...expected.versions.map((version) => `${expected.group}/${version}`),
    ...(expected.otherVersions ?? []),
  ];
  if (kind === expected.kind && versions.includes(String(apiVersion))) return;
  throw new ConfigurationError(
    `no kind ${quote(String(kind))} is registered for version ${quote(String(apiVersion))}`,
  );
}

/** The longest part of a file in a message. */
const MAX_TEXT = 2048;

const shorten = (text: string): string =>
  text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
