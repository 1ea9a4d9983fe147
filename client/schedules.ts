/** What a thread does by itself. */
import type { CallOptions, Http, WriteOptions } from "./http.ts";
import type { MessageReceipt, NewSchedule, Receipt, Schedule } from "./types.ts";

export class SchedulesClient {
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, threadPath: string) {
    this.#http = http;
    this.#path = `${threadPath}/schedules`;
  }

  /** The next one first. */
  async list(options: CallOptions = {}): Promise<readonly Schedule[]> {
    return (await this.#http.json<{ items: readonly Schedule[] }>(this.#path, options)).items;
  }

  /** Creates or changes it; the same again changes nothing. */
  put(scheduleId: string, schedule: NewSchedule, options: WriteOptions = {}): Promise<Schedule> {
    return this.#http.json(this.#at(scheduleId), { ...options, method: "PUT", json: schedule });
  }

  pause(scheduleId: string, options: WriteOptions = {}): Promise<Schedule> {
    return this.#post(`${this.#at(scheduleId)}/pause`, options);
  }

  /** What was due meanwhile is not made up for. */
  resume(scheduleId: string, options: WriteOptions = {}): Promise<Schedule> {
    return this.#post(`${this.#at(scheduleId)}/resume`, options);
  }

  /** Now, beside its timetable. */
  fire(scheduleId: string, options: WriteOptions = {}): Promise<MessageReceipt> {
    return this.#post(`${this.#at(scheduleId)}/run`, options);
  }

  delete(scheduleId: string, options: WriteOptions = {}): Promise<Receipt> {
    return this.#http.json(this.#at(scheduleId), { ...options, method: "DELETE" });
  }

  #post<T>(path: string, options: WriteOptions): Promise<T> {
    return this.#http.json(path, { ...options, method: "POST" });
  }

  #at(scheduleId: string): string {
    return `${this.#path}/${encodeURIComponent(scheduleId)}`;
  }
}
