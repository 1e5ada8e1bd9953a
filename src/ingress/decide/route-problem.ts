/** Why a route is not accepted. `reason` is one of the Gateway API's for the condition Accepted. */
export class RouteProblem extends Error {
  readonly reason: 'UnsupportedValue' | 'IncompatibleFilters';

  constructor(reason: RouteProblem['reason'], message: string) {
    super(message);
    this.name = 'RouteProblem';
    this.reason = reason;
  }
}
