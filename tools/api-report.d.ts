/** The path of the report. */
export const REPORT: string;
/** Returns the text of the report. Default: of declarations that are emitted for it. */
export function apiReport(declarations?: ReadonlyMap<string, string>): string;
