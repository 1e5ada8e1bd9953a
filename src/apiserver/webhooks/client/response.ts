// Interprets a response: returns its JSON, or throws the error that it stands for.

import type { IncomingHttpHeaders } from 'node:http';

import { parseYaml, YamlError } from '#api/machinery/codec/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Status } from '#machinery/apierrors.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { jsonType } from '#machinery/text/go-value.ts';
import { JsonError, parseJson } from '#machinery/text/json.ts';
import { WebhookCallError } from './errors.ts';
import { mediaTypeProblem } from './media-type.ts';
import type { WebhookResponse } from './send.ts';

const JSON_TYPE = 'application/json';
/** The maximum length of a text body in a message. */
const MAX_TEXT_BYTES = 2048;
/** The maximum length of a Status. */
const MAX_STATUS_BYTES = 256 * 1024;
/** The maximum length of a body that is not a JSON object, since reading YAML is slow. */
const MAX_YAML_BYTES = 16 * 1024;

/**
 * Returns the JSON of a response. Throws WebhookCallError. `method`: the request's method.
 * `maxValues`: the maximum number of values in the response.
 */
export function parseResponse(
  { code, headers, body }: WebhookResponse,
  method: string,
  maxValues = Infinity,
): unknown {
  const contentType = headers['content-type'] ?? '';
  const malformed = contentType === '' ? undefined : mediaTypeProblem(contentType);
  if (malformed !== undefined) throw failure(apierrors.internalError(malformed).status);
  if (code < 200 || code > 206) throw failure(statusError(code, headers, body, method));
  if (body.length === 0) {
    const type = contentType === '' ? JSON_TYPE : contentType;
    throw new WebhookCallError(
      `0-length response with status code: ${code} and content type: ${type}`,
    );
  }
  return isJsonObject(body) || body.length > MAX_YAML_BYTES
    ? parseJsonBody(body, maxValues)
    : parseYamlBody(body);
}

function parseJsonBody(body: Buffer, maxValues: number): unknown {
  try {
    return parseJson(body, { maxValues });
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new WebhookCallError(`couldn't get version/kind; json parse error: ${error.message}`, {
      cause: error,
    });
  }
}

/** Parses a body that does not begin like a JSON object as YAML, as upstream. */
function parseYamlBody(body: Buffer): unknown {
  let value: unknown;
  try {
    value = parseYaml(body.toString());
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new WebhookCallError(`error converting YAML to JSON: yaml: ${error.message}`, {
      cause: error,
    });
  }
  if (value === null || isPlainObject(value)) return value;
  const type =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  throw new WebhookCallError(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(value)} ` +
      `into Go value of type ${type}`,
  );
}

function isJsonObject(body: Buffer): boolean {
  return body.toString('latin1', 0, MAX_TEXT_BYTES).trimStart().startsWith('{');
}

/**
 * Returns the seconds to wait before the request is repeated. Undefined: the response does not ask
 * for that.
 */
export function retryAfter({
  code,
  headers,
}: Pick<WebhookResponse, 'code' | 'headers'>): number | undefined {
  if (code !== 429 && code < 500) return undefined;
  return retryAfterSeconds(headers);
}

function retryAfterSeconds(headers: IncomingHttpHeaders): number | undefined {
  const value = headers['retry-after'] ?? '';
  return /^[+-]?\d{1,9}$/.test(value) ? Number(value) : undefined;
}

function failure(status: Status): WebhookCallError {
  return new WebhookCallError(status.message ?? '', { status });
}

/** Returns the Status in the body if there is one, or a Status for the status code. */
function statusError(
  code: number,
  headers: IncomingHttpHeaders,
  body: Buffer,
  method: string,
): Status {
  const statusOfBody = statusIn(body);
  if (statusOfBody !== undefined) return statusOfBody;
  const text = isText(headers['content-type'] ?? '')
    ? body.toString('utf8', 0, MAX_TEXT_BYTES).trim()
    : 'unknown';
  return apierrors.genericServerResponse({
    code,
    verb: method,
    serverMessage: text,
    retryAfterSeconds: retryAfterSeconds(headers) ?? 0,
    isUnexpectedResponse: true,
  }).status;
}

function statusIn(body: Buffer): Status | undefined {
  let value: unknown;
  try {
    value = parseJson(body, { maxBytes: MAX_STATUS_BYTES });
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
  if (!isPlainObject(value) || value['kind'] !== 'Status' || value['status'] !== 'Failure')
    return undefined;
  const { apiVersion = 'v1', message = '', reason, code } = value;
  if (apiVersion !== 'v1' || typeof message !== 'string') return undefined;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(typeof reason === 'string' && { reason }),
    ...(typeof code === 'number' && { code }),
  };
}

function isText(contentType: string): boolean {
  return contentType === '' || contentType.trim().toLowerCase().startsWith('text/');
}
