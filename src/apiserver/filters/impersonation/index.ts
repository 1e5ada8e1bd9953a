// Impersonation by the Impersonate-* headers: the request continues as the requested user, if one
// of the modes allows it.

import { LruCache } from '#machinery/collections/lru.ts';
import type { Attributes, Authorizer } from '../../authorization/authorizer.ts';
import type { ApiRequest, Filter, Handler, UserInfo } from '../../request.ts';
import { attributesOf } from '../authorization.ts';
import { type Impersonated, type Mode, modes } from './modes.ts';
import { mentionsImpersonation, requestedUser } from './requested-user.ts';

/** The number of users whose last mode is remembered, as upstream. */
const MAX_REMEMBERED = 10_000;

export function impersonation(authorizer: Authorizer): Filter {
  const choice = new ModeChoice(modes(authorizer));
  return (next) => {
    const impersonated = impersonating(choice, next);
    return (request) =>
      mentionsImpersonation(request.headers) ? impersonated(request) : next(request);
  };
}

function impersonating(choice: ModeChoice, next: Handler): Handler {
  return async (request: ApiRequest) => {
    const requested = requestedUser(request);
    if (requested === undefined) return next(request);
    const { user, constraint } = await choice.impersonate(requested, attributesOf(request));
    request.user = user;
    request.audit?.impersonated(user, constraint);
    return next(request);
  };
}

/**
 * Tries the modes in order. The mode that last succeeded for a user comes first: most users use one
 * only, so the others cost them nothing.
 */
class ModeChoice {
  readonly #modes: readonly Mode[];
  /** By the name of the user that impersonates. */
  readonly #last = new LruCache<string, Mode>({ capacity: MAX_REMEMBERED });

  constructor(tried: readonly Mode[]) {
    this.#modes = tried;
  }

  /** Rejects with the error of the first mode that applies and denies the request. */
  async impersonate(requested: UserInfo, attributes: Attributes): Promise<Impersonated> {
    const { name } = attributes.user;
    const last = this.#last.get(name);
    const others = this.#modes.filter((mode) => mode !== last);
    let denied: unknown;
    for (const mode of last === undefined ? others : [last, ...others]) {
      try {
        const impersonated = await mode(requested, attributes);
        if (impersonated === undefined) continue;
        if (mode !== last) this.#last.set(name, mode);
        return impersonated;
      } catch (error) {
        denied ??= error;
      }
    }
    throw denied;
  }
}
