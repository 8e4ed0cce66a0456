"""Questions to the catalogue, as the rest of the engine asks them."""

from __future__ import annotations

import json

import pytest

from concurrency_gate.catalogue import EFFECTS, SPAWNS, Catalogue, CatalogueError, Shape, load
from concurrency_gate.catalogue_format import Link

CATALOGUE = load()


def kinds(name: str, catalogue: Catalogue = CATALOGUE) -> list[str]:
    return [entry.kind for entry in catalogue.effects(name)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("threading.Thread", ["thread"]),
        ("threading.Timer", ["thread"]),
        ("_thread.start_new_thread", ["thread"]),
        ("asyncio.tasks.create_task", ["task"]),
        ("asyncio.events.AbstractEventLoop.create_task", ["task"]),
        ("asyncio.SelectorEventLoop.create_task", ["task"]),
        ("uvloop.Loop.run_in_executor", ["executor"]),
        ("concurrent.futures.thread.ThreadPoolExecutor", ["executor"]),
        ("multiprocessing.context.SpawnContext.Process", ["process"]),
        ("multiprocessing.context.ForkProcess", ["process"]),
        ("posix.fork", ["process"]),
        ("gevent.greenlet.Greenlet.spawn", ["greenlet"]),
        ("gevent.pool.Pool.spawn", ["greenlet"]),
        ("fastapi.background.BackgroundTasks.add_task", ["framework"]),
        ("twisted.internet.reactor.callInThread", ["framework"]),
        ("asyncio.TaskGroup.create_task", []),
        ("anyio.abc.TaskGroup.start_soon", []),
        ("trio.Nursery.start_soon", []),
        ("concurrency_gate.runtime.anything", []),
        # network, enqueue, wait: verbs on a client, and what looks like one
        ("stripe.Customer.create", ["network"]),
        ("stripe.checkout.Session.create", ["network"]),
        ("stripe.Customer.construct_from", []),
        ("stripe.Webhook.construct_event", []),
        ("slack_sdk.web.client.WebClient.chat_postMessage", ["network"]),
        ("slack_sdk.WebClient", []),
        ("botocore.client.BaseClient.put_object", ["network"]),
        ("botocore.client.BaseClient.send_message", ["enqueue"]),
        ("botocore.client.BaseClient.generate_presigned_url", []),
        ("openai.chat.completions.create", ["network"]),
        ("requests.sessions.Session.post", ["network"]),
        ("requests_oauthlib.OAuth2Session.post", ["network"]),
        ("requests.Response.json", []),
        ("smtplib.SMTP_SSL", ["network"]),
        ("smtplib.SMTP_SSL.login", ["network"]),
        ("django.core.mail.EmailMultiAlternatives.send", ["network"]),
        ("django.core.cache.cache.delete", ["cache"]),
        ("django.core.files.storage.default_storage.save", ["storage"]),
        ("redis.StrictRedis.get", ["cache"]),
        ("redis.client.Pipeline.incrby", []),
        ("redis.client.Pipeline.execute", ["cache"]),
        ("celery.app.task.Task.delay", ["enqueue"]),
        ("celery.canvas.group.__call__", ["enqueue"]),
        ("celery.Signature.__call__", []),
        ("celery.Task.delay_on_commit", ["deferred"]),
        ("kafka.KafkaProducer.send", ["enqueue"]),
        ("fedmsg.publish", ["enqueue"]),
        ("pq.Queue.put", []),
        ("multiprocessing.Process.join", ["wait"]),
        ("elasticapm.Client.begin_transaction", []),
        ("storages.backends.s3boto3.S3Boto3Storage.save", ["network"]),
        ("django.core.mail.backends.smtp.EmailBackend.send_messages", ["network"]),
        (
            "django.core.mail.backends.filebased.EmailBackend.send_messages",
            ["network"],
        ),  # for development only
        ("post_office.backends.EmailBackend.send_messages", []),
        ("anymail.message.AnymailMessage.send", ["network"]),
        ("taskiq_redis.ListQueueBroker.kick", ["enqueue"]),
        ("types_aiobotocore_sqs.SQSClient.send_message", ["enqueue"]),
        ("channels.generic.websocket.AsyncJsonWebsocketConsumer.send", ["network"]),
        ("arq.ArqRedis.get", ["cache"]),
        ("redis.asyncio.Redis.aclose", []),
        ("multiprocessing.pool.ThreadPool.map", ["wait"]),
    ],
)
def test_effects(name: str, expected: list[str]) -> None:
    assert kinds(name) == expected


def test_the_kinds_of_the_spawn_family_are_disjoint() -> None:
    for name, rows in CATALOGUE.data["effects"].items():
        assert len({row[0] for row in rows} & set(SPAWNS)) <= 1, name


def test_no_name_is_both_local_and_something_else() -> None:
    for name, rows in CATALOGUE.data["effects"].items():
        assert len({row[0] for row in rows}) == 1, name


def test_no_spawn_is_a_wildcard() -> None:
    spawns = [name for name, rows in CATALOGUE.data["effects"].items() if rows[0][0] in SPAWNS]
    assert not [name for name in spawns if name.endswith(".*")]


def test_a_condition_comes_with_the_entry() -> None:
    (entry,) = CATALOGUE.effects("asgiref.sync.sync_to_async")
    assert entry.when is not None
    assert (entry.when.parameter, entry.when.equal, entry.when.value) == ("thread_sensitive", True, False)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("blocks", "django.db.transaction.atomic"),
        ("decorators", "django.db.transaction.atomic"),
        ("blocks", "psycopg2.extensions.connection"),
        ("blocks", "sqlmodel.Session.begin"),
        ("blocks", "sqlalchemy.orm.session.Session.begin_nested"),
        ("blocks", "peewee.PostgresqlDatabase.atomic"),
        ("blocks", "transaction.ThreadTransactionManager"),
        ("ends", "sqlalchemy.orm.scoped_session.remove"),
        ("open", "django.db.connection.in_atomic_block"),
        ("remote", "storages.backends.s3boto3.S3Boto3Storage"),
    ],
)
def test_marks(kind: str, name: str) -> None:
    assert [entry.kind for entry in CATALOGUE.marks(kind, name)] == [kind]
    assert kind == "remote" or kind not in EFFECTS


def test_a_driver_whose_with_only_closes_opens_no_transaction() -> None:
    for name in ("aiosqlite.Connection", "pymysql.connections.Connection", "sqlalchemy.orm.Session"):
        assert CATALOGUE.marks("blocks", name) == ()


def test_implicit_transactions() -> None:
    session = CATALOGUE.implicit("sqlmodel.Session")
    assert session is not None
    assert "execute" in session.statements
    assert "commit" in session.ends
    assert session.keeps is not None
    sqlite = CATALOGUE.implicit("sqlite3.dbapi2.Connection")
    assert sqlite is not None
    assert sqlite.writes
    assert [condition.parameter for condition in sqlite.unless] == ["isolation_level", "autocommit"]
    assert CATALOGUE.implicit("asyncpg.Connection") is None


def test_types() -> None:
    assert CATALOGUE.returns("sqlalchemy.orm.sessionmaker.__call__") == Shape("sqlalchemy.orm.Session")
    assert CATALOGUE.returns("django.db.models.Manager.get") == Shape("item")
    assert CATALOGUE.attribute("django.db.models.Model.objects") == Shape(
        "django.db.models.Manager", parameters=(Shape("self"),)
    )
    assert CATALOGUE.attribute("openai.OpenAI.chat") == Shape("openai._resource.SyncAPIResource")
    assert CATALOGUE.attribute("openai._resource.SyncAPIResource.completions") == Shape("self")
    assert CATALOGUE.attribute("openai._resource.SyncAPIResource.__dict__") is None
    assert CATALOGUE.iterates("django.db.models.Manager") == Shape("item")
    assert CATALOGUE.iterates("stripe.ListObject") == Shape("item")
    assert CATALOGUE.returns("stripe.checkout.Session.retrieve") == Shape("self")
    assert CATALOGUE.attribute("django.contrib.auth.models.User.objects") == Shape(
        "django.contrib.auth.models.UserManager", parameters=(Shape("self"),)
    )
    assert CATALOGUE.decorates("celery.app.shared_task") == "celery.Task"
    assert CATALOGUE.calls("django.db.models.Manager.create") == (
        Link(Shape("item"), "save", ("force_insert", "using")),
    )
    assert "django.db.models.signals.post_save" in CATALOGUE.fires("django.db.models.base.Model.save")
    assert CATALOGUE.is_subclass("fastapi.background.BackgroundTasks", "starlette.background.BackgroundTasks")
    assert not CATALOGUE.is_subclass("threading.Thread", "threading.Timer")


def test_unknown_names_answer_with_nothing() -> None:
    assert CATALOGUE.canonical("acme.jobs.Handler.run") == "acme.jobs.Handler.run"
    assert CATALOGUE.effects("acme.jobs.Handler.run") == ()
    assert CATALOGUE.returns("acme.jobs.Handler") is None


def test_words_hold_the_last_component_of_every_spelling() -> None:
    words = CATALOGUE.words(SPAWNS)
    assert {"Thread", "Timer", "create_task", "fork", "start_new_thread", "BackgroundTasks"} <= words
    assert {"start", "run", "execute", "Manager"}.isdisjoint(words)
    assert "BaseClient" in CATALOGUE.words(["network"])
    assert "atomic" in CATALOGUE.words(["blocks"])


def test_the_compiled_form_survives_json() -> None:
    again = Catalogue(json.loads(json.dumps(CATALOGUE.data)))
    assert again.data == CATALOGUE.data
    assert again.effects("stripe.Customer.create") == CATALOGUE.effects("stripe.Customer.create")


def test_a_team_adds_its_own_names() -> None:
    own = load(
        {
            "network": ["acme.http.Client.*", {"name": "acme.ping", "when": "dry!=True"}],
            "local": ["acme.http.Client.build", "requests.Session.send"],
            "alias": {"acme.client.Client": "acme.http.Client"},
            "bases": {"acme.http.Fast": ["acme.http.Client"]},
            "blocks": ["acme.db.unit_of_work"],
        }
    )
    assert kinds("acme.http.Client.fetch", own) == ["network"]
    assert kinds("acme.client.Client.fetch", own) == ["network"]
    assert kinds("acme.http.Fast.fetch", own) == ["network"]
    assert kinds("acme.http.Fast.build", own) == []
    assert kinds("requests.Session.send", own) == []
    assert own.effects("acme.ping")[0].library == "project"
    assert own.marks("blocks", "acme.db.unit_of_work")
    assert kinds("acme.http.Client.fetch") == []


@pytest.mark.parametrize(
    "additions",
    [
        {"local": ["threading.Thread"]},
        {"local": ["asyncio.tasks.create_task"]},
        {"alias": {"threading": "acme"}},
        {"alias": {"asyncio.create_task": "acme.nothing"}},
        {"attributes": {"asyncio": "acme.Nothing"}},
        {"returns": {"asyncio.get_running_loop": "acme.Nothing"}},
    ],
)
def test_an_addition_cannot_take_a_spawn_away(additions: dict[str, object]) -> None:
    with pytest.raises(CatalogueError, match="remove it here"):
        load(additions)
