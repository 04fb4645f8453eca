/** What every generated client must be able to do. An adapter for each client implements it with the generated types. */
export interface ClientApi {
  list(query: ListQuery): Promise<Result<Page>>;
  create(pet: NewPet, idempotencyKey?: string): Promise<Result<Pet>>;
  get(id: string): Promise<Result<Pet>>;
}

export interface ClientOptions {
  /** With the base path. */
  url: string;
  key: string;
}

export type Result<T> = { status: number; data: T } | { status: number; error: { code: string } };

export interface ListQuery {
  limit?: number;
  status?: 'available' | 'pending' | 'sold';
  cursor?: string;
}

export interface NewPet {
  name: string;
  /** A string: an int64 need not be exact as a number. */
  categoryId: string;
}

export interface Pet extends NewPet {
  id: string;
  status: string;
}

export interface Page {
  pets: Pet[];
  /** Cursor of the next page. */
  next: string | undefined;
}

/** The cursor of the next page, from the header Link. */
export function nextCursor(headers: Headers): string | undefined {
  return /[?&]cursor=([^&>]+).*rel="next"/.exec(headers.get('Link') ?? '')?.[1];
}
