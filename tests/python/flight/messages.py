"""Flight SQL's messages, for what drivers have no calls for."""

import pyarrow as pa
import pyarrow.flight as flight

TYPE = "type.googleapis.com/arrow.flight.protocol.sql."


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, value):
    """One field of a protobuf message."""
    if isinstance(value, (bool, int)):
        return varint(number << 3) + varint(int(value))
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(body):
    """The fields of a message, by their numbers; the last of each."""
    found, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = body[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(body):
        tag = number()
        size = number()
        if tag & 7 == 2:
            found[tag >> 3] = body[at:at + size]
            at += size
        else:
            found[tag >> 3] = size
    return found


def packed(name, body=b""):
    return field(1, TYPE + name) + field(2, body)


def command(name, **numbered):
    """command("CommandGetTables", f3="a%"): a descriptor."""
    body = b"".join(field(int(key[1:]), value) for key, value in numbered.items() if value is not None)
    return flight.FlightDescriptor.for_command(packed(name, body))


class Raw:
    """Calls of a client, with a header that says whose they are."""

    def __init__(self, client, header, **options):
        self.client, self.header = client, header
        self.options = flight.FlightCallOptions(headers=[header], **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def info(self, name, **numbered):
        return self.client.get_flight_info(command(name, **numbered), self.options)

    def query(self, text, transaction=None):
        return self.info("CommandStatementQuery", f1=text, f2=transaction)

    def reader(self, info, at=0):
        return self.client.do_get(info.endpoints[at].ticket, self.options)

    def table(self, info, at=0):
        return self.reader(info, at).read_all()

    def ask(self, name, **numbered):
        """A metadata command's answer."""
        info = self.info(name, **numbered)
        table = self.table(info)
        assert table.schema.equals(info.schema, check_metadata=True)
        return table

    def act(self, action, name, body=b""):
        results = list(self.client.do_action(flight.Action(action, packed(name, body)), self.options))
        return fields(fields(results[0].body.to_pybytes())[2]) if results else {}

    def cancel(self, info):
        """Flight's action, whose messages are not packed."""
        (result,) = self.client.do_action(flight.Action("CancelFlightInfo", field(1, info.serialize())), self.options)
        return fields(result.body.to_pybytes())

    def prepare(self, text, transaction=None):
        """Its handle."""
        body = field(1, text) + (field(2, transaction) if transaction else b"")
        return self.act("CreatePreparedStatement", "ActionCreatePreparedStatementRequest", body)[1]

    def bind(self, handle, *arrays):
        """Parameters for the next executions."""
        batch = pa.record_batch(list(arrays), names=[str(at) for at in range(len(arrays))])
        return self.put(command("CommandPreparedStatementQuery", f1=handle), [batch], batch.schema)

    def begin(self):
        return self.act("BeginTransaction", "ActionBeginTransactionRequest")[1]

    def end(self, transaction, commit):
        self.act("EndTransaction", "ActionEndTransactionRequest", field(1, transaction) + field(2, 1 if commit else 2))

    def put(self, descriptor, batches, schema=None):
        """Sends batches; what the server says in the end."""
        schema = schema or pa.schema([])
        writer, reader = self.client.do_put(descriptor, schema, self.options)
        for batch in batches:
            writer.write_batch(batch)
        writer.done_writing()
        answer = reader.read()
        writer.close()
        return fields(answer.to_pybytes()) if answer is not None else {}

    def update(self, text, transaction=None):
        return self.put(command("CommandStatementUpdate", f1=text, f2=transaction), []).get(1, 0)

    def ingest(self, table, batches, schema, missing=1, there=1, **numbered):
        options = field(1, missing) + field(2, there)
        return self.put(command("CommandStatementIngest", f1=options, f2=table, **numbered), batches, schema).get(1, 0)
