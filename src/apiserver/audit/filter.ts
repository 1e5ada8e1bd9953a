// Records requests as the audit policy demands. The filter is behind authentication, so that it
// knows the user, and before impersonation, so that it knows both users.

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Random } from '#machinery/random.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { endedBy } from '#machinery/watch.ts';
import { attributesOf } from '../filters/authorization.ts';
import { isLongRunning } from '../filters/request-info.ts';
import type {
  ApiRequest,
  ApiResponse,
  Filter,
  Handler,
  ResponseBody,
  UserInfo,
} from '../request.ts';
import type { AuditMetrics } from './metrics.ts';
import { type AuditPolicy, evaluator, type Stage } from './policy.ts';
import { AuditRecord, statusOf } from './record.ts';
import { responseJson } from './response-json.ts';
import type { AuditSink } from './sink.ts';

export interface AuditConfig {
  readonly policy: AuditPolicy;
  readonly sink: AuditSink;
  readonly metrics: AuditMetrics;
  readonly clock: Clock;
  /** For IDs of requests that came over no connection. */
  readonly random: Random;
}

export function audit(config: AuditConfig): Filter {
  const decide = evaluator(config.policy);
  const { metrics, clock, random } = config;
  return (next) => (request) => {
    const decision = decide(attributesOf(request));
    metrics.decided(decision.level);
    if (decision.level === 'None') return next(request);
    const id = request.auditId ?? random.uuid();
    const receivedMs = clock.now() - (clock.monotonic() - (request.startedMs ?? clock.monotonic()));
    const record = new AuditRecord(request, request.user!, decision, id, receivedMs);
    for (const [key, value] of Object.entries(request.credentialNotes ?? {}))
      record.annotate(key, value);
    request.audit = record;
    return new Recording(config, record).run(next, request);
  };
}

/** A request without a user is evaluated as that of a user without a name. */
const NOBODY: UserInfo = { name: '', groups: [] };

/** Returns the filter that records requests whose credentials were rejected. */
export function auditFailedAuthentication(config: AuditConfig): Filter {
  const decide = evaluator(config.policy);
  const { metrics, clock, random, sink } = config;
  const recorded = async (request: ApiRequest, error: apierrors.StatusError): Promise<void> => {
    const decision = decide({ ...attributesOf(request), user: NOBODY });
    metrics.decided(decision.level);
    if (decision.level === 'None' || decision.omitStages.has('ResponseStarted')) return;
    const id = request.auditId ?? random.uuid();
    const record = new AuditRecord(request, NOBODY, decision, id, clock.now());
    record.failed(error);
    metrics.recorded();
    await sink.process([record.event('ResponseStarted', clock.now())]);
  };
  return (next) => (request) =>
    next(request).catch(async (error: unknown) => {
      const isRejected = error instanceof apierrors.StatusError && error.code === UNAUTHORIZED;
      if (isRejected && request.user === undefined) await recorded(request, error);
      throw error;
    });
}

const UNAUTHORIZED = 401;

class Recording {
  readonly #config: AuditConfig;
  readonly #record: AuditRecord;

  constructor(config: AuditConfig, record: AuditRecord) {
    this.#config = config;
    this.#record = record;
  }

  async run(next: Handler, request: ApiRequest): Promise<ApiResponse> {
    if (!(await this.#emit('RequestReceived'))) {
      this.#config.metrics.rejected();
      throw apierrors.internalError('failed to store audit event');
    }
    const isLong = isLongRunning(request.info);
    let response: ApiResponse;
    try {
      response = await next(request);
    } catch (error) {
      await this.#failed(error, isLong);
      throw error;
    }
    return this.#responded(request, response, isLong);
  }

  async #failed(error: unknown, isLong: boolean): Promise<void> {
    if (!(error instanceof apierrors.StatusError)) {
      this.#record.responseStatus = {
        status: 'Failure',
        reason: 'InternalError',
        message: `APIServer panic'd: ${errorMessage(error)}`,
        code: 500,
      };
      await this.#emit('Panic');
      return;
    }
    this.#record.failed(error);
    if (isLong) await this.#emit('ResponseStarted');
    await this.#emit('ResponseComplete');
  }

  async #responded(
    request: ApiRequest,
    response: ApiResponse,
    isLong: boolean,
  ): Promise<ApiResponse> {
    const { body, code } = response;
    const record = this.#record;
    record.responseStatus = { code: body.kind === 'taken' ? 101 : code };
    if (body.kind === 'object') {
      // A deletion answers with a Status, of which the event has the fields.
      const object = body.object.object();
      if (isPlainObject(object) && object['kind'] === 'Status')
        record.responseStatus = statusOf(object, code);
    }
    if (record.records('RequestResponse'))
      record.responseObject = await responseJson(body, record.decision.omitManagedFields);
    if (isLong) await this.#emit('ResponseStarted');
    const ended = atEnd(body, () => void this.#emit('ResponseComplete'));
    if (ended !== undefined) return { ...response, body: ended };
    await this.#emit('ResponseComplete');
    return response;
  }

  /** Resolves with false if the event should be recorded and cannot be. */
  async #emit(stage: Stage): Promise<boolean> {
    if (this.#record.decision.omitStages.has(stage)) return true;
    this.#config.metrics.recorded();
    return this.#config.sink.process([this.#record.event(stage, this.#config.clock.now())]);
  }
}

/** Returns a body that calls `ended` when it has ended. Undefined: it is complete already. */
function atEnd(body: ResponseBody, ended: () => void): ResponseBody | undefined {
  switch (body.kind) {
    case 'watch': {
      const { events } = body;
      let isOpen = true;
      const end = (): void => {
        events.stop();
        if (isOpen) ended();
        isOpen = false;
      };
      return { ...body, events: endedBy(events, end) };
    }
    case 'stream':
      return {
        ...body,
        stream: {
          async *[Symbol.asyncIterator]() {
            try {
              yield* body.stream;
            } finally {
              ended();
            }
          },
        },
      };
    case 'taken':
      return { ...body, done: body.done.finally(ended) };
    default:
      return undefined;
  }
}
