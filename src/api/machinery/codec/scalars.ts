// A codec for each scalar type: it checks the JSON and makes it canonical, and defines the zero
// value.

import {
  DurationError,
  formatDurationNanoseconds,
  parseDurationNanoseconds,
} from '#machinery/text/duration.ts';
import { canonicalizeQuantity, QuantityError } from '#machinery/text/quantity.ts';
import type { Scalar, TypeRef } from '../descriptor.ts';
import { decodeBase64 } from './base64.ts';
import type { DecodeContext } from './decode-context.ts';
import { normalizeMicroTime, normalizeTime, TimeError } from '#machinery/text/time.ts';

/**
 * Decodes a value. Returns undefined for null (absent). Reports errors through the context, which
 * throws.
 */
export type Decode = (value: unknown, context: DecodeContext) => unknown;

export interface ScalarCodec {
  readonly decode: Decode;
  /** The encoding of an absent value that is not left out. */
  readonly zero: unknown;
}

type ScalarType = TypeRef & { kind: 'scalar' };

export function scalarCodec(type: ScalarType): ScalarCodec {
  if (type.scalar === 'string' && type.goName !== undefined) return stringCodec(type.goName);
  return codecs[type.scalar];
}

/** Returns the name of a type in Go's messages. */
export function goTypeName(type: TypeRef): string {
  switch (type.kind) {
    case 'scalar':
      return type.goName ?? goNames[type.scalar] ?? type.scalar;
    case 'list':
      return type.goName ?? `[]${goTypeName(type.items)}`;
    case 'map':
      return type.goName ?? `map[string]${goTypeName(type.values)}`;
    case 'message':
    case 'either': {
      const { key, shortName } = type.message;
      return `${key.slice(key.indexOf('/') + 1, key.lastIndexOf('.'))}.${shortName}`;
    }
  }
}

const goNames: Partial<Record<Scalar, string>> = {
  double: 'float64',
  bytes: '[]uint8',
  quantity: 'resource.Quantity',
  time: 'v1.Time',
  microTime: 'v1.MicroTime',
  duration: 'v1.Duration',
  intOrString: 'intstr.IntOrString',
  rawExtension: 'runtime.RawExtension',
  json: 'interface {}',
  fieldsV1: 'v1.FieldsV1',
};

function stringCodec(goType: string): ScalarCodec {
  return {
    zero: '',
    decode(value, context) {
      if (typeof value === 'string') return value;
      return value === null || value === undefined ? undefined : context.wrongType(value, goType);
    },
  };
}

function integerCodec(goType: string, min: number, max: number): ScalarCodec {
  return {
    zero: 0,
    decode(value, context) {
      if (typeof value === 'number') {
        if (Number.isSafeInteger(value) && value >= min && value <= max)
          return value === 0 ? 0 : value;
        return context.wrongType(value, goType);
      }
      return value === null || value === undefined ? undefined : context.wrongType(value, goType);
    },
  };
}

/**
 * Returns the codec of a Go type that decodes a JSON string itself: other JSON is rejected without
 * the field's name.
 */
function textCodec(
  zero: unknown,
  normalize: (text: string, context: DecodeContext) => unknown,
): ScalarCodec {
  return {
    zero,
    decode(value, context) {
      if (typeof value === 'string') return normalize(value, context);
      if (value === null || value === undefined) return undefined;
      return context.wrongValue(value, 'string');
    },
  };
}

/** A free-form value is kept unchanged. */
const anyCodec: ScalarCodec = { zero: null, decode: (value) => value ?? undefined };

const codecs: Readonly<Record<Scalar, ScalarCodec>> = {
  string: stringCodec('string'),
  bool: {
    zero: false,
    decode(value, context) {
      if (typeof value === 'boolean') return value;
      return value === null || value === undefined ? undefined : context.wrongType(value, 'bool');
    },
  },
  int32: integerCodec('int32', -0x80000000, 0x7fffffff),
  int64: integerCodec('int64', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  uint8: integerCodec('uint8', 0, 0xff),
  uint32: integerCodec('uint32', 0, 0xffffffff),
  uint64: integerCodec('uint64', 0, Number.MAX_SAFE_INTEGER),
  double: {
    zero: 0,
    decode(value, context) {
      if (typeof value === 'number' && Number.isFinite(value)) return value;
      return value === null || value === undefined
        ? undefined
        : context.wrongType(value, 'float64');
    },
  },
  bytes: {
    zero: '',
    decode(value, context) {
      if (value === null || value === undefined) return undefined;
      if (typeof value === 'string') {
        const decoded = decodeBase64(value);
        return typeof decoded === 'string'
          ? decoded
          : context.invalid(`illegal base64 data at input byte ${decoded}`);
      }
      // Go also accepts a list of small numbers as bytes.
      if (!Array.isArray(value)) return context.wrongType(value, '[]uint8');
      const numbers = value.map((item, index) => {
        context.push(index);
        const number = codecs.uint8.decode(item, context) ?? 0;
        context.pop();
        return number as number;
      });
      return Buffer.from(numbers).toString('base64');
    },
  },
  quantity: {
    zero: '0',
    decode(value, context) {
      if (value === null || value === undefined) return undefined;
      context.countQuantity();
      try {
        return canonicalizeQuantity(
          typeof value === 'string' || typeof value === 'number' ? String(value) : '',
        );
      } catch (error) {
        if (error instanceof QuantityError) return context.invalid(error.message);
        throw error;
      }
    },
  },
  time: textCodec(null, (text, context) => timeOf(normalizeTime, text, context)),
  microTime: textCodec(null, (text, context) => timeOf(normalizeMicroTime, text, context)),
  duration: textCodec('0s', (text, context) => {
    try {
      return formatDurationNanoseconds(parseDurationNanoseconds(text));
    } catch (error) {
      if (error instanceof DurationError) return context.invalid(error.message);
      throw error;
    }
  }),
  intOrString: {
    zero: 0,
    decode(value, context) {
      if (typeof value === 'string') return value;
      if (
        typeof value === 'number' &&
        Number.isInteger(value) &&
        value >= -0x80000000 &&
        value <= 0x7fffffff
      )
        return value === 0 ? 0 : value;
      return value === null || value === undefined ? undefined : context.wrongValue(value, 'int32');
    },
  },
  rawExtension: anyCodec,
  json: anyCodec,
  fieldsV1: anyCodec,
};

function timeOf(
  normalize: (text: string) => string | undefined,
  text: string,
  context: DecodeContext,
): string | undefined {
  try {
    return normalize(text);
  } catch (error) {
    if (error instanceof TimeError) return context.invalid(error.message);
    throw error;
  }
}
